import {
  idleLoad,
  type Learned,
  type Load,
  nothingFound,
  type Participant,
  type Paths,
  type Presence,
  type Registration,
} from "./participant.ts";
import { Pace } from "./placement/pace.ts";
import { noAliases } from "./aliases/alias-table.ts";
import { noKeys } from "./keys/key-table.ts";
import { newPlacing, type Room } from "./room.ts";

let keys = 0;

/** Of a participant itself, and of its groups. */
export type ParticipantFields = Partial<
  Registration & Pick<Participant, "roomCode" | "key"> & Learned & Paths & Load & Presence
>;

/** An online participant without a path that failed: routable through its endpoint. */
export function aParticipant(fields: ParticipantFields & { id: string }): Participant {
  const participant: Participant = {
    nickname: `nick of ${fields.id}`,
    model: "llama3",
    endpoint: "http://127.0.0.1:11434",
    baseUrl: "http://127.0.0.1:11434/v1",
    endpointOrigin: "http://127.0.0.1:11434",
    specs: {},
    config: {},
    declaredCapabilities: {},
    isTunnelOnly: false,
    liveness: undefined,
    declaredContext: undefined,
    isStandIn: false,
    only: undefined,
    batches: undefined,
    registrant: { address: "127.0.0.1", hasOrigin: false, throttleKey: "127.0.0.1" },
    tokenDigest: new Uint8Array(32),
    machineDigest: undefined,
    agentId: undefined,
    run: undefined,
    clientKeyDigest: undefined,
    keyId: undefined,
    roomCode: "ABC234",
    key: `key ${++keys}`,
    id: fields.id,
    learned: {
      ...nothingFound(),
      credentials: { haveWorked: false, trial: undefined },
      capabilities: { openResponses: "unknown", chatCompletions: "unknown" },
      pace: new Pace(),
      rarePaces: new Map(),
    },
    paths: {
      tunnel: { kind: "closed" },
      tunnelProblem: undefined,
      direct: { kind: "untried" },
      lastContactAt: null,
      lastContactMs: 0,
      ownerAddress: undefined,
    },
    load: { ...idleLoad(), limit: 2, limitFrom: "declared" },
    presence: {
      status: "online",
      returning: undefined,
      joinedAt: 1_700_000_000_123,
      joinedMs: 0,
      lastSeenMs: 0,
      lastSeenAt: 1_700_000_000_456,
      lastUsedMs: 0,
    },
  };
  const { learned, paths, load, presence } = participant;
  for (const [name, value] of Object.entries(fields)) {
    const group = [learned, paths, load, presence].find((each) => name in each) ?? participant;
    Object.assign(group, { [name]: value });
  }
  return participant;
}

export function aRoom(...participants: Participant[]): Room {
  const placing = newPlacing();
  for (const { learned } of participants) learned.index = placing.serving;
  return {
    id: "5f9a4a3e-6d0f-4c3e-9f0a-0d6c8c6b7a11",
    code: "ABC234",
    name: "lab",
    hostId: "0b0c6f5e-1f5f-4f58-8f0e-6a3f1f0a2b22",
    createdAt: 1_700_000_000_000,
    isPasswordProtected: false,
    hostTokenDigest: undefined,
    lastUsedAt: 1_700_000_000_000,
    aliases: noAliases,
    isClosed: false,
    keys: noKeys,
    bans: [],
    blocked: new Set<string>(),
    isDeleted: false,
    participants: new Map(participants.map((one) => [one.id, one])),
    placing,
  };
}
