import { readinessOfModelList } from "@roomhub/protocol";
import type { ProbeResult } from "../learn/probe.ts";

/** What one look at the model list says of the server. Contract §3. */
export type ProbeFinding =
  /** ids in the server's order, and the other names they have; empty when it named none. `isList`: with a 2xx */
  | { kind: "responds"; isList: boolean; models: readonly string[]; aliases: readonly string[] }
  | { kind: "refuses" }
  | { kind: "loads" }
  | { kind: "down"; problem: string }
  /** `isAccepted`: the server took the connection, so it may be busy */
  | { kind: "silent"; problem: string; isAccepted: boolean };

const noResponse = "does not respond";

export function findingOf(found: ProbeResult): ProbeFinding {
  const { answered, status = 200, problem = noResponse, models = [], aliases = [] } = found;
  if (!answered) {
    if (found.isTimeout !== true) return { kind: "down", problem };
    return { kind: "silent", problem, isAccepted: found.isAccepted === true };
  }
  switch (readinessOfModelList(status)) {
    case "ready":
      return { kind: "responds", isList: status < 300, models, aliases };
    case "needs-credentials":
      return { kind: "refuses" };
    case "loading":
      return { kind: "loads" };
    case "down":
      return { kind: "down", problem };
  }
}
