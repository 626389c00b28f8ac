interface LimitRow {
  default: number;
  what: string;
  /** 0 when left out */
  min?: number;
  max?: number;
}

interface Limit extends LimitRow {
  unit: "bytes" | "ms" | "count";
}

function defineLimits<Name extends string>(rows: Record<Name, LimitRow>): Record<Name, Limit> {
  const limits = Object.entries<LimitRow>(rows).map(([name, row]) => {
    return [name, { ...row, unit: unitIn(name) }];
  });
  return Object.fromEntries(limits) as Record<Name, Limit>;
}

/** The unit is in the name; a limit without one is a count. */
function unitIn(name: string): Limit["unit"] {
  if (name.endsWith("Ms")) return "ms";
  return name.endsWith("Bytes") ? "bytes" : "count";
}

const kib = 1024;
const mib = 1024 * 1024;
/** A Node.js timer set for longer than 2^31 ms fires at once. */
const longestTimerMs = 24 * 24 * 3_600_000;

/** Every limit of the hub with its default. Contract §6 and §4, interface §8. */
export const LIMITS = defineLimits({
  offlineAfterMs: { default: 30_000, what: "silence after which a participant is offline" },
  sweepIntervalMs: { default: 250, what: "interval between deadline checks", min: 1, max: 1_000 },
  participantExpiryMs: {
    default: 24 * 3_600_000,
    what: "an offline, disconnected participant is removed after",
  },
  roomExpiryMs: { default: 30 * 24 * 3_600_000, what: "an unused room is removed after" },
  roomEvictionAgeMs: {
    default: 24 * 3_600_000,
    what: "at the room limit, rooms unused for longer than this may be removed",
  },

  rooms: { default: 1_000, what: "rooms per hub" },
  roomCreationBurst: { default: 20, what: "rooms one address may create at once" },
  roomCreationPerMinute: {
    default: 10,
    what: "rooms one address may create per minute after that",
    min: 1,
  },
  participantsPerRoom: { default: 1_024, what: "participants per room" },
  participantsPerHub: { default: 4_096, what: "participants per hub" },
  probedPerRoom: { default: 32, what: 'participants per room with liveness "probe"' },
  probedPerAddress: {
    default: 8,
    what: 'participants with liveness "probe" that one address registered',
  },
  passwordAttemptsBurst: { default: 5, what: "wrong join passwords at once, per room and address" },
  passwordAttemptIntervalMs: {
    default: 2_000,
    what: "time until one more wrong password is allowed",
  },
  passwordAttemptsPerRoom: {
    default: 60,
    what: "wrong join passwords per room and minute, from all addresses together",
  },

  managementBodyBytes: { default: 64 * kib, what: "body of a management request" },
  inferenceBodyBytes: { default: 64 * mib, what: "body of an inference request" },
  uploadBytes: { default: 512 * mib, what: "a form" },
  multipartHoldBytes: { default: 32 * mib, what: "of a form, held until its part model comes" },
  heldBodyBytes: { default: 512 * mib, what: "request bodies held per hub" },
  jsonDepth: { default: 512, what: "nesting of an inference body" },
  headerBytes: { default: 16 * kib, what: "request headers" },
  headerPairs: { default: 200, what: "request header pairs" },
  urlBytes: { default: 8 * kib, what: "request URL" },
  headersReadMs: {
    default: 10_000,
    what: "time to receive the request headers",
    min: 1,
    max: longestTimerMs,
  },
  bodyIdleMs: {
    default: 30_000,
    what: "time without a byte while a body is received",
    max: longestTimerMs,
  },
  bodyReadMs: { default: 600_000, what: "time to receive a whole body", max: longestTimerMs },
  keepAliveMs: {
    default: 65_000,
    what: "idle keep-alive connections are closed after",
    min: 1,
    max: longestTimerMs,
  },

  nicknameLength: { default: 64, what: "characters of a nickname" },
  modelLength: { default: 256, what: "characters of a model name" },
  roomNameLength: { default: 128, what: "characters of a room name" },
  endpointLength: { default: 2_048, what: "characters of an endpoint" },
  keysPerRoom: { default: 500, what: "keys per room, and those that ended within 30 days" },
  keyFailuresBurst: {
    default: 60,
    what: "requests without a valid key at once, per address, in closed rooms",
  },
  keyFailureIntervalMs: {
    default: 1_000,
    what: "time until one more request without a valid key is judged",
  },
  aliasesPerRoom: { default: 64, what: "aliases per room" },
  roomAliasBytes: {
    default: 16 * kib,
    what: "UTF-8 bytes of a room's aliases, all patterns and targets",
  },
  passwordBytes: { default: 128, what: "UTF-8 bytes of a join password" },
  authHeaders: { default: 16, what: "authHeaders of a participant" },
  authHeaderBytes: { default: 8 * kib, what: "authHeaders of a participant, all names and values" },
  participantFieldBytes: { default: 16 * kib, what: "specs, config and capabilities, each" },
  participantFieldDepth: { default: 8, what: "nesting of specs, config and capabilities" },

  subscribersPerRoom: { default: 10_000, what: "event subscribers per room" },
  subscriberBufferBytes: {
    default: mib,
    what: "unsent events per subscriber before it is disconnected",
  },
  eventCommentMs: { default: 15_000, what: "interval between comments on an idle event stream" },

  inFlightPerHub: { default: 16_384, what: "requests in flight per hub" },
  inFlightPerParticipant: {
    default: 256,
    what: "requests in flight per participant that declares no maxConcurrency, whatever its model server reports",
  },
  assumedConcurrency: {
    default: 4,
    what: "requests at once at a participant that declares no maxConcurrency and whose model server reports none",
    min: 1,
  },
  responsesPerRoom: {
    default: 10_000,
    what: "response ids remembered per room, each with its participant",
  },
  responseSockets: { default: 1_000, what: "WebSockets on /responses per hub" },
  responseSocketQueue: { default: 16, what: "waiting turns per WebSocket" },
  responseSocketMemoryBytes: {
    default: 16 * mib,
    what: "the last turn of a WebSocket, kept for the next one",
  },
  responseSocketMs: { default: 3_600_000, what: "lifetime of a WebSocket on /responses" },
  responseSocketPingMs: {
    default: 30_000,
    what: "interval between WebSocket pings; closed after two missed",
  },
  queuePerRoom: { default: 256, what: "waiting requests per room" },
  queueWaitMs: { default: 60_000, what: "waiting time in the queue" },
  batchWaitMs: { default: 600_000, what: "the same for requests of batches" },

  tunnelMessageBytes: { default: mib, what: "one tunnel message", min: 128 * kib, max: mib },
  tunnelResponseWindowBytes: {
    default: 128 * kib,
    what: "unconsumed response bytes per stream",
    min: 1,
    max: 0x7fff_ffff,
  },
  tunnelMaxStreams: { default: 16_384, what: "streams per tunnel", min: 1, max: 0xffff_ffff },
  tunnelOpenings: {
    default: 5,
    what: "tunnels opened with one token within tunnelOpeningsMs",
    min: 1,
  },
  tunnelOpeningsMs: { default: 10_000, what: "time in which tunnelOpenings counts" },
  tunnelPingMs: { default: 10_000, what: "interval between tunnel pings; closed after two missed" },
  resumeMs: {
    default: 30_000,
    what: "streams wait this long for a tunnel whose connection was lost; 0 = they end at once",
    max: 300_000,
  },
  resumeLogBytes: {
    default: 256 * mib,
    what: "kept of all tunnels until it is acknowledged, to be sent again",
  },

  connectMs: {
    default: 10_000,
    what: "time to connect to a provider (direct)",
    max: longestTimerMs,
  },
  probeMs: {
    default: 1_000,
    what: "how long a join waits for the first probe of a direct endpoint",
    max: longestTimerMs,
  },
  loadingMs: {
    default: 900_000,
    what: "a model server that loads its model for longer than this is down",
  },
  firstByteMs: { default: 600_000, what: "time to the provider's first byte" },
  streamIdleMs: { default: 300_000, what: "time between two bytes of a response" },
  requestMs: { default: 1_800_000, what: "a whole request, all attempts" },
  responseBodyBytes: { default: 64 * mib, what: "a non-streamed response" },
  mediaResponseBytes: { default: 512 * mib, what: "a response of sound or text" },
  eventHoldBytes: { default: 16 * kib, what: "bytes held back to finish a streamed event" },
  keepaliveCommentMs: {
    default: 15_000,
    what: "interval between comments on an idle response stream",
  },
  earlyCommitMs: {
    default: 45_000,
    what: "a stream's headers are sent without the provider's response after; 0 = never",
  },
  informationalMs: {
    default: 60_000,
    what: "interval between 102 Processing to clients known to ignore it; 0 = never",
  },
  clientStallMs: { default: 60_000, what: "a client that stops reading is disconnected after" },
  drainMs: {
    default: 30_000,
    what: "running requests may finish within this at shutdown",
    max: longestTimerMs,
  },
});

export type LimitName = keyof typeof LIMITS;
export type Limits = Record<LimitName, number>;

export const LIMIT_NAMES = Object.keys(LIMITS) as LimitName[];

/**
 * All limits: the defaults with `overrides` applied, in the units of {@link LIMITS}.
 *
 * @throws RangeError for an invalid value
 */
export function resolveLimits(overrides: Partial<Limits> | undefined): Limits {
  return Object.fromEntries(
    LIMIT_NAMES.map((name) => {
      const value = overrides?.[name] ?? LIMITS[name].default;
      const problem = limitProblem(name, value);
      if (problem !== undefined) throw new RangeError(`The limit ${name} ${problem}, not ${value}`);
      return [name, value];
    }),
  ) as Limits;
}

/** Why a value is invalid for a limit, as the end of a sentence; undefined when it is valid. */
export function limitProblem(name: LimitName, value: number): string | undefined {
  const { min = 0, max = Number.MAX_SAFE_INTEGER, unit } = LIMITS[name];
  if (Number.isSafeInteger(value) && value >= min && value <= max) return undefined;
  const what = unit === "count" ? "a whole number" : `a whole number of ${unit}`;
  if (max < Number.MAX_SAFE_INTEGER) return `must be ${what} from ${min} to ${max}`;
  return `must be ${what} of at least ${min}`;
}

/** `inferenceBodyBytes` → `ROOMHUB_INFERENCE_BODY_BYTES`. */
export function limitEnvName(name: LimitName): string {
  return `ROOMHUB_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}
