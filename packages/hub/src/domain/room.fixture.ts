import { blankCounters } from "./blank-counters.ts";
import type { Participant } from "./participant.ts";
import { noAliases } from "./aliases/alias-table.ts";
import { newPlacing, type Room } from "./room.ts";

let keys = 0;

/** An online participant without a path that failed: routable through its endpoint. */
export function aParticipant(fields: Partial<Participant> & { id: string }): Participant {
  return {
    nickname: `nick of ${fields.id}`,
    model: "llama3",
    endpoint: "http://127.0.0.1:11434",
    baseUrl: "http://127.0.0.1:11434/v1",
    endpointOrigin: "http://127.0.0.1:11434",
    specs: {},
    config: {},
    declaredCapabilities: {},
    learnedCapabilities: {},
    refusesStreamUsage: false,
    reportsUsageItself: false,
    credentials: { haveWorked: false, trial: undefined },
    capabilities: { openResponses: "unknown", chatCompletions: "unknown" },
    isTunnelOnly: false,
    liveness: undefined,
    isStandIn: false,
    registrant: { address: "127.0.0.1", hasOrigin: false, throttleKey: "127.0.0.1" },
    tokenDigest: new Uint8Array(32),
    machineDigest: undefined,
    agentId: undefined,
    clientKeyDigest: undefined,
    ownerAddress: undefined,
    roomCode: "ABC234",
    key: `key ${++keys}`,
    status: "online",
    tunnel: { kind: "closed" },
    tunnelProblem: undefined,
    budget: undefined,
    restsUntilMs: undefined,
    direct: { kind: "untried" },
    returning: undefined,
    joinedAt: 1_700_000_000_123,
    joinedMs: 0,
    lastSeenMs: 0,
    lastSeenAt: 1_700_000_000_456,
    lastContactAt: null,
    lastContactMs: 0,
    lastUsedMs: 0,
    ...blankCounters(),
    loadedModels: undefined,
    limit: 2,
    limitFrom: "declared",
    ...fields,
  };
}

export function aRoom(...participants: Participant[]): Room {
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
    participants: new Map(participants.map((one) => [one.id, one])),
    placing: newPlacing(),
  };
}
