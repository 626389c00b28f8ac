import {
  Capabilities,
  JoinRun,
  ParticipantConfig,
  ParticipantSummary,
  Specs,
} from "@roomhub/protocol";
import type { StoredRegistration } from "../../domain/stored-registration.ts";

const { shape } = ParticipantSummary;
const text = shape.id;
const epochMs = shape.joinedAt;
const flag = shape.standIn.unwrap();
const digest = text.refine((base64) => /^[A-Za-z0-9+/]{43}=$/.test(base64));
const formatVersion = 1;

/** The JSON form, and what of it is read back. */
const storedForm = ParticipantSummary.pick({
  ...{ id: true, nickname: true, model: true, endpoint: true },
  ...{ joinedAt: true, agentId: true, liveness: true },
}).extend({
  version: epochMs.refine((version) => version === formatVersion),
  roomCode: text,
  baseUrl: text.refine((url) => URL.canParse(url)),
  endpointOrigin: text,
  specs: Specs,
  config: ParticipantConfig.omit({ instructions: true }),
  capabilities: Capabilities.partial(),
  isTunnelOnly: flag,
  declaredContext: epochMs.optional(),
  isStandIn: flag,
  only: shape.only,
  batches: shape.batches,
  registrant: ParticipantSummary.pick({}).extend({
    address: text.optional(),
    hasOrigin: flag,
    throttleKey: text,
  }),
  tokenDigest: digest,
  clientKeyDigest: digest.optional(),
  keyId: text.optional(),
  run: JoinRun.optional(),
  has: ParticipantSummary.pick({}).extend({
    ...{ authHeaders: flag, instructions: flag, machineSecret: flag },
  }),
  computer: text,
  ownerAddress: text.optional(),
  storedAt: epochMs,
});

/**
 * The fields of the form alone: whatever else an object carries never leaves the hub. Of secrets it says that there were
 * some, of tokens it has the SHA-256.
 */
export function encodeRegistration(registration: StoredRegistration): string {
  const { declaredCapabilities, tokenDigest, clientKeyDigest, config, ...fields } = registration;
  const form = storedForm.parse({
    ...fields,
    version: formatVersion,
    config: withoutInstructions(config),
    capabilities: declaredCapabilities,
    tokenDigest: toBase64(tokenDigest),
    clientKeyDigest: clientKeyDigest && toBase64(clientKeyDigest),
  });
  return JSON.stringify(form);
}

/** @throws Error with the field that is wrong, never with the text itself */
export function decodeRegistration(stored: object): StoredRegistration {
  const result = storedForm.safeParse(stored);
  if (!result.success) {
    throw new Error(`${result.error.issues[0]?.path.map(String).join(".") ?? "it"} is not valid`);
  }
  const { version: _one, capabilities, clientKeyDigest, ...fields } = result.data;
  const { registrant } = fields;
  return {
    ...fields,
    config: withoutInstructions(fields.config),
    declaredCapabilities: capabilities,
    declaredContext: fields.declaredContext,
    liveness: fields.liveness,
    agentId: fields.agentId,
    run: fields.run,
    keyId: fields.keyId,
    only: fields.only,
    batches: fields.batches,
    ownerAddress: fields.ownerAddress,
    registrant: { ...registrant, address: registrant.address },
    tokenDigest: Buffer.from(fields.tokenDigest, "base64"),
    clientKeyDigest:
      clientKeyDigest === undefined ? undefined : Buffer.from(clientKeyDigest, "base64"),
  };
}

/** Further members of `config` are kept, this one in no case. */
function withoutInstructions(config: Record<string, unknown>): StoredRegistration["config"] {
  const { instructions: _private, ...others } = config;
  return others;
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
