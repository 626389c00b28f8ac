/** One request of a client, as the seed drew it. */
export interface PlannedRequest {
  tag: string;
  atMs: number;
  /** index of the client's machine */
  client: number;
  /** index of the hub that it dials */
  hub: number;
  selector: string;
  isStream: boolean;
  tokens: number;
  gapMs: number;
  /** of each token's text */
  tokenBytes: number;
  /** of the request's text, at least */
  promptBytes: number;
  /** The text is the file of a form, which comes in pieces. */
  isForm: boolean;
  /** the client leaves so long after it has sent the request; undefined: it stays */
  leavesAfterMs: number | undefined;
  /** It is of a batch: it has the last turn, and its client leaves after a while. */
  isBatch: boolean;
  /** in which its client reads nothing of the response, in their order */
  pauses: readonly PlannedPause[];
}

/** A time in which a client reads nothing. */
interface PlannedPause {
  /** it begins once the client has read so many */
  afterBytes: number;
  forMs: number;
}

/** An agent, and what its participant declares. */
export interface PlannedAgent {
  name: string;
  model: string;
  slots: number;
  budget?: { requestsPerMinute: number } | { tokensPerDay: number };
  /** of its model server, which refuses longer prompts; `isReported`: its list of models says so */
  context?: { tokens: number; isReported: boolean };
}

/** A change that a hub acknowledges: what it confirmed must be there ever after. */
export interface PlannedChange {
  atMs: number;
  /** index of the hub that it is sent to */
  hub: number;
  kind: "room" | "alias";
  /** of the room, or the pattern of the alias */
  name: string;
}

/** What goes wrong, when, and for how long. Machines are named as in {@link Plan}. */
export type Fault = { atMs: number } & (
  | { kind: "reset"; machine: string; nth: number }
  /** of all connections between two hubs */
  | { kind: "hop reset"; one: string; other: string }
  | { kind: "cut"; one: string; other: string; forMs: number }
  /** Its connections to other machines break, and within `mostMs` so does each that it dials meanwhile. */
  | { kind: "broken dials"; machine: string; mostMs: number; forMs: number }
  | { kind: "freeze"; machine: string; forMs: number }
  /** `isPowerCut`: what its disk has not synced is lost, too */
  | { kind: "kill"; machine: string; forMs: number; isPowerCut: boolean }
  | { kind: "stop"; machine: string; forMs: number }
  | { kind: "slow network"; mostMs: number; forMs: number }
  | { kind: "clock"; machine: string; byMs: number }
  | { kind: "model server"; machine: string; mood: Mood; forMs: number }
  | { kind: "no directory"; machine: string; forMs: number }
  /** It responds late, and some replies are lost: of what was to be written it is unknown whether it was. */
  | { kind: "slow directory"; machine: string; mostMs: number; lossRate: number; forMs: number }
  | { kind: "full disk"; machine: string; forMs: number }
);

/** What a model server does instead of serving. */
export type Mood = "down" | "overloaded" | "loading" | "breaks" | "unauthorised" | BadMood;

/** It sends what is no valid response. */
export interface BadMood {
  /** the name of one of `badResponses` */
  sends: string;
  /** also in place of the list of its models, by which its agent looks after it; else in place of generations alone */
  isEverywhere: boolean;
}

/** A history before it happens. The same seed gives the same plan. */
export interface Plan {
  seed: number;
  hubs: string[];
  agents: PlannedAgent[];
  clients: string[];
  requests: PlannedRequest[];
  changes: PlannedChange[];
  faults: Fault[];
  /** when the last fault has ended and everything may recover */
  healMs: number;
}

/** Begins after the room and its participants are there. */
export const loadFromMs = 5_000;

/** How much happens in a history, and for how long. */
export type Length = keyof typeof lengths;

/** Bounds of what is drawn. */
export const lengths = {
  long: {
    loadMs: [5_000, 40_000],
    requests: [5, 30],
    tokens: [3, 30, 200],
    leavesWithinMs: 8_000,
    faults: [0, 7],
    faultMs: [500, 5_000, 40_000],
  },
  /** A tenth of the work, and more faults in a second. */
  short: {
    loadMs: [2_000, 4_000],
    requests: [2, 7],
    tokens: [2, 6, 12],
    leavesWithinMs: 3_000,
    faults: [1, 5],
    faultMs: [200, 2_000, 12_000],
  },
} as const;

/** Whether a request with this selector may go to the agent. */
export function mayGoTo(selector: string, id: string, model: string): boolean {
  return ["*", id, model, `model:${model}`].includes(selector);
}
