import type { Participant } from "../../domain/participant.ts";

/** An agent that has joined dials at once. */
const arriveWithinMs = 5_000;

/** Participants between two hubs of a cluster. */
export class Moves {
  /** This hub stops, and its participants are to go to others. */
  isHandingOver = false;
  readonly #dueMs = new Map<Participant, number>();

  /** It joined here, and was another hub's. */
  expect(participant: Participant, nowMs: number): void {
    this.#dueMs.set(participant, nowMs + arriveWithinMs);
  }

  /** Its tunnel is open, or is not expected any more. */
  end(participant: Participant): void {
    this.#dueMs.delete(participant);
  }

  takeOverdue(nowMs: number): Participant[] {
    const overdue = [...this.#dueMs].filter(([, dueMs]) => dueMs <= nowMs);
    for (const [participant] of overdue) this.#dueMs.delete(participant);
    return overdue.map(([participant]) => participant);
  }
}

/** How a participant is between two hubs of a cluster: requests wait for it. */
export function underWay(nowMs: number): Participant["tunnel"] {
  return {
    kind: "open",
    readiness: "loading",
    problem: "it moves to another hub",
    sinceMs: nowMs,
  };
}
