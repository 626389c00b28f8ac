import type { EventRecorder } from "../support/hub/event-recorder.ts";
import { type LedgerEntry, ledgerOf, ledgerProblems } from "../support/hub/ledger.ts";
import type { CallOutcome } from "./client-call.ts";

/** The events of one hub process, in both spellings. */
export interface HubRun {
  colon: EventRecorder;
  dot: EventRecorder;
  /** it was killed: what was open then has no end, and clients saw their connections break */
  wasKilled: boolean;
}

/**
 * Compares every client's outcome with the events. Contract §5, "Ledger".
 *
 * @param mayBeCut - the fault was in the network between client and hub, or the client itself stalled: a connection may
 * break without an error frame
 * @returns what does not agree, in words
 */
export function checkLedger(
  runs: readonly HubRun[],
  outcomes: readonly CallOutcome[],
  mayBeCut: boolean,
): string[] {
  const entries = new Map<string, LedgerEntry>();
  for (const { dot } of runs) {
    for (const entry of ledgerOf(dot)) entries.set(entry.requestId, entry);
  }
  const wasKilled = runs.some((run) => run.wasKilled);
  const told = outcomes.filter(({ requestId }) => requestId !== undefined);
  const problems = [
    ...runs.flatMap(eventProblems),
    ...told.flatMap((outcome) =>
      outcomeProblems(outcome, entries.get(outcome.requestId ?? ""), mayBeCut, wasKilled),
    ),
    ...outcomes.flatMap(({ tag, problem }) =>
      problem === undefined ? [] : [`${tag}: ${problem}`],
    ),
  ];
  const matched = new Set(told.map(({ requestId }) => requestId));
  const unmatched = [...entries.keys()].filter((requestId) => !matched.has(requestId));
  const untold = outcomes.length - told.length;
  if (unmatched.length > untold) {
    problems.push(`${unmatched.length} requests in the events, ${untold} clients without an id`);
  }
  const silent = outcomes.filter(
    ({ requestId, end }) => requestId === undefined && end !== "left" && end !== "refused",
  );
  if (!wasKilled && !mayBeCut && silent.length > 0) {
    problems.push(`${silent.length} clients were cut before any answer (${silent[0]?.tag})`);
  }
  return problems;
}

/** Requests that have begun and not ended in what was recorded. */
export function openRequests(run: HubRun): number {
  return [run.colon, run.dot].reduce(
    (most, recorder) =>
      Math.max(most, ledgerOf(recorder).filter(({ ends }) => ends.length === 0).length),
    0,
  );
}

function eventProblems({ colon, dot, wasKilled }: HubRun): string[] {
  if (wasKilled) {
    return [colon, dot].flatMap((recorder) =>
      ledgerOf(recorder)
        .filter(({ ends }) => ends.length > 1)
        .map(({ requestId, ends }) => `${requestId} has ${ends.length} terminal events`),
    );
  }
  const differing = differences(ledgerOf(colon), ledgerOf(dot));
  return [
    ...ledgerProblems(colon),
    ...(differing === undefined ? [] : [differing]),
    ...ledgerOf(dot).flatMap(orderProblems),
  ];
}

/** Both spellings report the same events. */
function differences(colon: LedgerEntry[], dot: LedgerEntry[]): string | undefined {
  const inWords = (entries: LedgerEntry[]) =>
    entries.map(({ requestId, requests, ends }) =>
      [
        requestId,
        requests.length,
        ...ends.map(({ kind, data }) => `${kind} ${String(data["code"])}`),
      ].join(" "),
    );
  const [first, second] = [inWords(colon), new Set(inWords(dot))];
  const missing = first.filter((line) => !second.has(line));
  if (first.length === second.size && missing.length === 0) return undefined;
  return `the two event streams differ: ${first.length} and ${second.size} requests, ${missing[0] ?? ""}`;
}

/** Attempts that are missing or out of order. */
export function orderProblems({ requestId, requests, ends }: LedgerEntry): string[] {
  const end = ends[0];
  if (end === undefined) return [];
  const attempts = requests.map(({ data }) => data["attempt"]);
  const problems = [];
  if (attempts.some((attempt, index) => attempt !== index + 1)) {
    problems.push(`${requestId} has attempts ${attempts.join(", ")}`);
  }
  if (end.data["attempts"] !== requests.length) {
    problems.push(
      `${requestId} ends with ${String(end.data["attempts"])} attempts of ${requests.length}`,
    );
  }
  return problems;
}

/** Whether the events say what the client saw. @param entry - of its request */
export function outcomeProblems(
  { tag, end, code, status, requestId }: CallOutcome,
  entry: LedgerEntry | undefined,
  mayBeCut: boolean,
  wasKilled: boolean,
): string[] {
  const terminal = entry?.ends[0];
  const said =
    terminal === undefined ? "nothing" : `${terminal.kind} ${String(terminal.data["code"])}`;
  const complaint = (what: string) => [
    `${tag} (${requestId}): the client saw ${what}, the events say ${said}`,
  ];
  switch (end) {
    case "complete":
      return terminal?.kind === "llm.complete" || (wasKilled && terminal === undefined)
        ? []
        : complaint("a complete answer");
    case "error": {
      if (terminal === undefined) return isUnrouted(code, status) ? [] : complaint(`${code}`);
      return terminal.kind === "llm.error" && terminal.data["code"] === code
        ? []
        : complaint(`${code}`);
    }
    case "left":
      return terminal === undefined && !wasKilled ? complaint("itself leaving") : [];
    case "cut":
      if (wasKilled && terminal === undefined) return [];
      if (mayBeCut && terminal !== undefined) return [];
      return complaint("its connection break");
    case "refused":
      return complaint("no connection, and yet an answer");
  }
}

/** Refused before the request existed: no events. */
function isUnrouted(code: string | undefined, status: number | undefined): boolean {
  const codes = ["bad_request", "hub_draining", "hub_overloaded", "request_too_large"];
  return status === 404 || codes.includes(code ?? "");
}
