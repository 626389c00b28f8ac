import type { Word } from "./room-model.ts";
import { type Arbitrary, array, boolean, constantFrom, nat, oneof, record } from "fast-check";

/** Whose right an action claims. `stranger` comes through an untrusted proxy: its address proves nothing. */
export type Claim = "owner" | "neighbour" | "stranger" | "thief";

/** The response to a held request. */
export type How =
  | "whole"
  | "cut"
  | "head then reset"
  | "unreachable"
  | "overloaded"
  | "timeout"
  | "garbage on the tunnel"
  | 400
  | 401
  | 403
  | 407
  | 500
  | 503;

interface At {
  room: number;
  id: string;
  /** by which of the two path families */
  isV1: boolean;
}

/** One step of a run. Those that make no sense where they come do nothing. */
export type Action =
  | (At & {
      kind: "join";
      claim: Claim;
      model: string;
      limit: number;
      hasPassword: boolean;
    })
  | (At & { kind: "rename"; claim: Claim; nickname: string })
  | (At & { kind: "leave"; claim: Claim })
  | (At & { kind: "heartbeat"; claim: Claim })
  | (At & { kind: "open tunnel"; claim: "owner" | "thief" })
  | (At & { kind: "close tunnel" })
  | (At & { kind: "ping" })
  | (At & { kind: "status"; word: Word })
  | { kind: "advance"; fiveSeconds: number }
  | { kind: "ask"; room: number; selector: string; isStream: boolean; isV1: boolean }
  | { kind: "answer"; nth: number; how: How }
  | { kind: "abort"; nth: number };

const ids = ["ada", "bob", "cyd"];
const models = ["small", "small:latest", "large", "bob"];
const hows: How[] = [
  "whole",
  "whole",
  "whole",
  "cut",
  "head then reset",
  "unreachable",
  "overloaded",
  "timeout",
  "garbage on the tunnel",
  400,
  401,
  403,
  407,
  500,
  503,
  503,
];
const words: Word[] = ["ready", "ready", "loading", "needs-credentials", "down"];
const at = {
  room: constantFrom(0, 0, 1),
  id: constantFrom(...ids),
  isV1: boolean(),
};
const claim = constantFrom<Claim>("owner", "owner", "neighbour", "stranger", "thief");

const action: Arbitrary<Action> = oneof(
  {
    weight: 2,
    arbitrary: record({
      kind: constantFrom("join"),
      ...at,
      claim,
      model: constantFrom(...models),
      limit: constantFrom(1, 2),
      hasPassword: constantFrom(true, true, true, false),
    }),
  },
  {
    weight: 4,
    arbitrary: record({
      kind: constantFrom("open tunnel"),
      ...at,
      claim: constantFrom("owner", "owner", "owner", "thief"),
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      kind: constantFrom("rename"),
      ...at,
      claim,
      nickname: constantFrom("x", "y"),
    }),
  },
  { weight: 1, arbitrary: record({ kind: constantFrom("leave"), ...at, claim }) },
  { weight: 2, arbitrary: record({ kind: constantFrom("heartbeat"), ...at, claim }) },
  { weight: 1, arbitrary: record({ kind: constantFrom("close tunnel"), ...at }) },
  { weight: 1, arbitrary: record({ kind: constantFrom("ping"), ...at }) },
  {
    weight: 4,
    arbitrary: record({ kind: constantFrom("status"), ...at, word: constantFrom(...words) }),
  },
  {
    weight: 2,
    arbitrary: record({ kind: constantFrom("advance"), fiveSeconds: constantFrom(1, 1, 2, 4, 7) }),
  },
  {
    weight: 12,
    arbitrary: record({
      kind: constantFrom("ask"),
      room: at.room,
      selector: constantFrom(
        "*",
        "any",
        "small",
        "model:small",
        "model:large",
        "ada",
        "bob",
        "nobody",
      ),
      isStream: boolean(),
      isV1: boolean(),
    }),
  },
  {
    weight: 7,
    arbitrary: record({ kind: constantFrom("answer"), nth: nat(5), how: constantFrom(...hows) }),
  },
  { weight: 2, arbitrary: record({ kind: constantFrom("abort"), nth: nat(5) }) },
);

/** A participant that is online from the start, so that not every request is refused. */
function arrival(room: number, id: string, model: string): Action[] {
  const where = { room, id, isV1: false, claim: "owner" } as const;
  return [
    { kind: "join", ...where, model, limit: 1, hasPassword: true },
    { kind: "open tunnel", ...where },
  ];
}

/** A whole run. */
export const actions: Arbitrary<Action[]> = record({
  arrivals: constantFrom(
    [],
    arrival(0, "ada", "small"),
    [...arrival(0, "ada", "small"), ...arrival(0, "bob", "small:latest")],
    [...arrival(0, "ada", "bob"), ...arrival(0, "bob", "small"), ...arrival(1, "ada", "small")],
  ),
  others: array(action, { minLength: 5, maxLength: 60, size: "max" }),
}).map(({ arrivals, others }) => [...arrivals, ...others]);

const canMove: How[] = ["unreachable", "overloaded", 401, 407, 503];

/**
 * A run that chance seldom makes: each failure that lets a request move elsewhere, of one that names bob and must not go to
 * ada, whose model has that name, and of one that selects the model.
 */
export const movesElsewhere: Action[] = [
  ...arrival(0, "ada", "bob"),
  ...arrival(0, "bob", "bob"),
  ...canMove.flatMap((how): Action[] => [
    { kind: "ask", room: 0, selector: "bob", isStream: true, isV1: false },
    { kind: "answer", nth: 0, how },
    // After a 503 others are held for a second.
    { kind: "advance", fiveSeconds: 1 },
    { kind: "ask", room: 0, selector: "model:bob", isStream: false, isV1: true },
    { kind: "answer", nth: 0, how },
    { kind: "answer", nth: 0, how: "whole" },
  ]),
];

/**
 * Others: requests wait for a server that loads, by id too, and are sent to it as often as it loads; a 503 once it is
 * ready ends one and holds the others for a second.
 */
export const waitsForLoading: Action[] = [
  ...arrival(0, "ada", "small"),
  ...(["ada", "*", "small"] as const).flatMap((selector): Action[] => [
    { kind: "ask", room: 0, selector, isStream: true, isV1: false },
    { kind: "status", room: 0, id: "ada", isV1: false, word: "loading" },
    { kind: "ask", room: 0, selector, isStream: false, isV1: false },
    { kind: "answer", nth: 0, how: 503 },
    { kind: "status", room: 0, id: "ada", isV1: false, word: "ready" },
    { kind: "status", room: 0, id: "ada", isV1: false, word: "loading" },
    { kind: "answer", nth: 0, how: 503 },
    { kind: "status", room: 0, id: "ada", isV1: false, word: "ready" },
    { kind: "answer", nth: 0, how: selector === "ada" ? "whole" : 503 },
    { kind: "advance", fiveSeconds: 1 },
    { kind: "answer", nth: 0, how: "whole" },
  ]),
];

/** Credentials that are refused are tried again by one request after 5 s, then after twice as long, at most 2 min. */
export const triesAgain: Action[] = [
  ...arrival(0, "ada", "small"),
  { kind: "status", room: 0, id: "ada", isV1: false, word: "needs-credentials" },
  ...[1, 1, 1, 4, 4, 4, 5, 5, 5, 1, 6, 6, 6, 5, 1, 6, 6, 6, 6].flatMap((fiveSeconds): Action[] => [
    { kind: "advance", fiveSeconds },
    { kind: "ping", room: 0, id: "ada", isV1: false },
    { kind: "ask", room: 0, selector: "*", isStream: true, isV1: false },
    { kind: "ask", room: 0, selector: "ada", isStream: true, isV1: false },
    { kind: "answer", nth: 0, how: 401 },
  ]),
];

/** Three attempts, which are as many as are made: the third may succeed, a fourth participant is not called. */
export const movesTwice: Action[] = [
  ...["ada", "bob", "cyd", "dee"].flatMap((id) => arrival(0, id, "small")),
  ...(["whole", 401] as const).flatMap((how): Action[] => [
    { kind: "ask", room: 0, selector: "model:small", isStream: true, isV1: false },
    { kind: "answer", nth: 0, how: 407 },
    { kind: "answer", nth: 0, how: "unreachable" },
    { kind: "answer", nth: 0, how },
  ]),
];
