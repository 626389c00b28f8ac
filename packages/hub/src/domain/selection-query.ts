import type { Participant } from "./participant.ts";

/** The `model` field of a request, read. Interface §4. */
export type Selector =
  | { kind: "any" }
  | { kind: "model"; model: string }
  | { kind: "name"; name: string };

export function parseSelector(text: string): Selector {
  if (text === "*" || text === "any") return { kind: "any" };
  if (text.startsWith("model:")) return { kind: "model", model: text.slice("model:".length) };
  return { kind: "name", name: text };
}

export interface SelectionQuery {
  selector: Selector;
  /** what the participant must be able to do, as capabilities name it */
  protocol: string;
  /** those that had this request and do not get it again */
  excluded: readonly Participant[];
  /** the one participant that can serve it at all */
  only: Participant | undefined;
  /** uniform in `[0, 1)` */
  random: () => number;
  /** ms on the hub's clock */
  nowMs: () => number;
}
