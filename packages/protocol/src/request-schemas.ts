import { z } from "zod";
import { BatchConsent } from "./batch-consent.ts";
import { authHeadersSchema } from "./auth-headers.ts";
import { Capabilities } from "./capability.ts";
import { isClientName } from "./client-identity.ts";
import { checkEndpoint } from "./endpoint.ts";
import { isObject } from "./json-object.ts";
import { KeyRight } from "./key.ts";
import { resolveLimits, type Limits } from "./limits.ts";
import { MeasuredFeatures } from "./model-facts.ts";
import { Liveness, ParticipantConfig, ParticipantId, Specs } from "./participant.ts";
import { isDeeperThan, normalisedText, plainText, utf8Length } from "./text.ts";

/** 32 bytes in base64url. Contract §1, "Machines". */
const MachineSecret = z.string().regex(/^[\w-]{43}$/, {
  error: "must be 32 bytes in base64url, without padding",
});

/**
 * A field that takes any object: unknown members are kept, known ones that are not valid count as absent. Limits depth
 * and size of all that was sent. Contract §6.
 */
function anyObject<T extends z.ZodObject>(known: T, limits: Limits) {
  return z.preprocess((sent, context) => {
    const problem = sizeProblem(sent, limits);
    if (problem === undefined) return withoutInvalid(sent, known.shape);
    context.addIssue({ code: "custom", message: problem, params: { tooLarge: true } });
    return sent;
  }, known);
}

function withoutInvalid(sent: unknown, known: z.ZodRawShape): unknown {
  if (!isObject(sent)) return sent;
  const kept = Object.entries(sent).filter(([name, value]) => {
    return !Object.hasOwn(known, name) || z.safeParse(known[name] ?? z.never(), value).success;
  });
  return Object.fromEntries(kept);
}

function sizeProblem(sent: unknown, limits: Limits): string | undefined {
  if (isDeeperThan(sent, limits.participantFieldDepth)) return "is nested too deeply";
  const bytes = utf8Length(JSON.stringify(sent) ?? "");
  return bytes > limits.participantFieldBytes ? "is too large" : undefined;
}

/** From 1 byte up to the limit, in UTF-8. */
function roomPassword(limits: Limits) {
  return z
    .string()
    .min(1, { error: "must not be empty" })
    .refine((password) => utf8Length(password) <= limits.passwordBytes, {
      error: `must be at most ${limits.passwordBytes} bytes`,
      params: { tooLarge: true },
    })
    .meta({ maxLength: limits.passwordBytes });
}

function endpoint(limits: Limits) {
  return z
    .string()
    .superRefine((text, context) => {
      const check = checkEndpoint(text, limits.endpointLength);
      if (!check.ok) context.addIssue({ code: "custom", message: check.reason });
    })
    .meta({ format: "uri", maxLength: limits.endpointLength });
}

function nickname(limits: Limits) {
  return normalisedText("nickname", limits.nicknameLength);
}

/** Not normalised: the provider compares bytes. */
function model(limits: Limits) {
  return plainText("model", limits.modelLength);
}

const maxContextTokens = 1_000_000_000;
const maxAliasTargets = 16;
const maxWildcards = 4;
const dayMs = 24 * 3_600_000;
const maxKeyModels = 64;
const mostRequestsPerMinute = 1_000_000;
const mostTokensPerDay = 1_000_000_000_000;
const longestKeyLifeMs = 10 * 366 * dayMs;

/** A name in which `*` stands for any text. Selectors that are never aliased are no patterns; `*` alone is one. */
function aliasPattern(limits: Limits) {
  return plainText("pattern", limits.modelLength)
    .refine((text) => text.split("*").length - 1 <= maxWildcards, {
      error: `must have at most ${maxWildcards} *`,
    })
    .refine((text) => text !== "any" && !text.startsWith("model:"), {
      error: "must not be any, or begin with model:, which are never aliased",
    });
}

function optionalFields(limits: Limits) {
  return {
    password: roomPassword(limits).nullish(),
    specs: anyObject(Specs, limits).nullish(),
    config: anyObject(ParticipantConfig, limits).nullish(),
    capabilities: anyObject(Capabilities.partial(), limits).nullish(),
    authHeaders: authHeadersSchema(limits.authHeaders, limits.authHeaderBytes).nullish(),
    transport: z.enum(["tunnel", "auto"]).optional(),
    liveness: Liveness.nullish(),
    /** tokens that its model takes, where it is less than the model server reports. Contract §3, "Context" */
    context: z.int().min(1).max(maxContextTokens).nullish(),
  };
}

/** Which of the joins of one run of an agent this is, from 1. Contract §3, "Ownership". */
export const JoinRun = z.object({ bootId: z.uuid(), joins: z.int().min(1) });
export type JoinRun = z.infer<typeof JoinRun>;

/** Schemas of management request bodies, with one hub's limits. */
export function createRequestSchemas(limits: Limits) {
  return {
    /** `POST /rooms`. Interface §4. */
    createRoom: z.object({
      name: normalisedText("name", limits.roomNameLength),
      password: roomPassword(limits).nullish(),
      /** Its use needs a key, and the response has the first one. Contract §9. */
      closed: z.boolean().nullish(),
    }),
    /** `PUT /rooms/:code`: what is left out stays, a `null` password is none. Contract §9. */
    updateRoom: z.object({
      name: normalisedText("name", limits.roomNameLength).optional(),
      password: roomPassword(limits).nullish(),
    }),
    /** `POST …/keys`. Contract §9. */
    createKey: z.object({
      name: z.string().refine(isClientName, {
        error:
          "must be up to 32 letters, digits, dots, underscores and hyphens, and begin with a letter or digit",
      }),
      may: z.array(KeyRight).min(1, { error: "must have at least one right" }).nullish(),
      models: z
        .array(model(limits))
        .min(1, { error: "must have at least one model" })
        .max(maxKeyModels, { error: `must have at most ${maxKeyModels} models` })
        .nullish(),
      requestsPerMinute: z.int().min(1).max(mostRequestsPerMinute).nullish(),
      tokensPerDay: z.int().min(1).max(mostTokensPerDay).nullish(),
      expiresInMs: z.int().min(1).max(longestKeyLifeMs).nullish(),
    }),
    /** `POST /rooms/:code/join`. Interface §2, contract §1. */
    join: z.object({
      id: ParticipantId,
      nickname: nickname(limits),
      model: model(limits),
      endpoint: endpoint(limits),
      machineSecret: MachineSecret.optional(),
      /** the same for all participants of one agent process. Contract §1, "Machines" */
      agentId: z.uuid().optional(),
      run: JoinRun.optional(),
      /** its owner's requests go first. Contract §3 */
      ownFirst: z.boolean().optional(),
      /** It leaves requests for any participant to the others. Contract §3, "Stand-ins" */
      standIn: z.boolean().optional(),
      /** names of the keys whose requests it serves in a closed room. Contract §9 */
      only: z.array(z.string().refine(isClientName)).min(1).max(maxKeyModels).optional(),
      batches: BatchConsent.optional(),
      ...optionalFields(limits),
    }),
    /** `PUT /v1/rooms/:code/participants/:id` of an existing one: any subset, `null` clears. Contract §1. */
    updateParticipant: z.object({
      id: z.string().optional(),
      nickname: nickname(limits).optional(),
      model: model(limits).optional(),
      endpoint: endpoint(limits).optional(),
      ...optionalFields(limits),
    }),
    /** `POST …/aliases`. Contract §3, "Aliases". */
    alias: z.object({
      pattern: aliasPattern(limits),
      targets: z
        .array(plainText("target", limits.modelLength))
        .min(1, { error: "must have at least one target" })
        .max(maxAliasTargets, { error: `must have at most ${maxAliasTargets} targets` }),
    }),
    /** `PUT /v1/rooms/:code/participants/:id/features`. Contract §3, "Features". */
    measuredFeatures: MeasuredFeatures,
    /** `POST /rooms/:code/health`. Interface §3. */
    heartbeat: z.object({ id: z.string() }),
  };
}

export type RequestSchemas = ReturnType<typeof createRequestSchemas>;

const objectFields = ["specs", "config", "capabilities"] as const;

/**
 * The members of `specs`, `config` and `capabilities` that were sent and are not valid.
 *
 * @param sent - the body that `read` was parsed from
 */
export function ignoredMembers(
  sent: unknown,
  read: Pick<UpdateParticipantRequest, (typeof objectFields)[number]>,
): string[] {
  return objectFields.flatMap((field) => {
    const kept = read[field] ?? {};
    const names = Object.keys((sent as Record<string, object | undefined>)[field] ?? {});
    return names.filter((name) => !Object.hasOwn(kept, name)).map((name) => `${field}.${name}`);
  });
}

/** The schemas at the default limits, for programs that validate before sending. */
export const REQUEST_SCHEMAS: RequestSchemas = createRequestSchemas(resolveLimits(undefined));

export type CreateRoomRequest = z.infer<RequestSchemas["createRoom"]>;
export type AliasRequest = z.infer<RequestSchemas["alias"]>;
export type UpdateRoomRequest = z.infer<RequestSchemas["updateRoom"]>;
export type CreateKeyRequest = z.infer<RequestSchemas["createKey"]>;
export type JoinRequest = z.infer<RequestSchemas["join"]>;
export type UpdateParticipantRequest = z.infer<RequestSchemas["updateParticipant"]>;
