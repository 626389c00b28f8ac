import { isDeepStrictEqual } from "node:util";
import type { EventRecorder, RecordedEvent } from "../../support/hub/event-recorder.ts";
import { type LedgerEntry, ledgerOf } from "../../support/hub/ledger.ts";
import type { CallOutcome } from "../client-call.ts";
import { orderProblems, outcomeProblems } from "../ledger-check.ts";

/** The event stream of one life of a hub. */
export interface StreamRun {
  readonly hub: string;
  /** of its clients' URLs */
  readonly origin: string;
  readonly events: EventRecorder;
  /** what was open at this hub then has no end, and its clients saw their connections break */
  wasKilled: boolean;
}

export interface LedgerRules {
  /**
   * A stream may lack events: it ended with the room's home, and was opened again at the next. What a stream has of a
   * request is right.
   */
  mayMiss: boolean;
  /** the fault is between clients and hubs: a connection may break without an error frame */
  mayBeCut: boolean;
}

/** The end of a request in an event stream or in the log of a hub. */
export interface RequestEnd {
  hub: string;
  /** of the event */
  kind: string;
  requestId: string;
}

/** What is compared. */
export interface ClusterRecords {
  /** the streams of all hubs */
  runs: readonly StreamRun[];
  loggedEnds: readonly RequestEnd[];
  /** what clients saw */
  outcomes: readonly CallOutcome[];
  /** by tag: how often providers worked on the call */
  generations: ReadonlyMap<string, number>;
}

interface Copy {
  run: StreamRun;
  entry: LedgerEntry;
}

/**
 * Compares every client's outcome with the event streams of all hubs. Every request has one end, the same in every stream,
 * in none of them twice, and one generation for each attempt. Contract §5, "Ledger"; §8.
 *
 * @returns what does not agree, in words
 */
export function checkClusterLedger(
  { runs, loggedEnds, outcomes, generations }: ClusterRecords,
  { mayMiss, mayBeCut }: LedgerRules,
): string[] {
  const requests = copiesOf(runs);
  const isKill = runs.some(({ wasKilled }) => wasKilled);
  const mayGap = mayMiss || isKill;
  const problems = [
    ...numberProblems(runs, mayGap),
    ...loggedProblems(loggedEnds, new Set(requests.keys()), isKill),
  ];
  for (const [requestId, copies] of requests) {
    problems.push(...copies.flatMap(copyProblems), ...differences(copies));
    if (mayGap) continue;
    const lacking = runs.filter((run) => !copies.some((copy) => copy.run === run));
    problems.push(...lacking.map(({ hub }) => `${requestId} is not in the stream of ${hub}`));
    problems.push(...copies.flatMap(incomplete));
  }
  for (const outcome of outcomes) {
    const { tag, requestId, baseUrl, problem } = outcome;
    if (problem !== undefined) problems.push(`${tag}: ${problem}`);
    const copies = requests.get(requestId ?? "") ?? [];
    problems.push(...generationProblems(outcome, copies, generations));
    const home = copies.filter(({ run }) => baseUrl.startsWith(`${run.origin}/`));
    const wasKilled = isKilled(runs, baseUrl);
    if (!wasKilled && !mayMiss) problems.push(...home.flatMap(incomplete));
    if (requestId === undefined) continue;
    const whole = mostComplete(home.length > 0 ? home : copies);
    if (mayMiss && (whole === undefined || whole.ends.length === 0)) continue;
    problems.push(...outcomeProblems(outcome, whole, mayBeCut, wasKilled));
  }
  const uncut = mayBeCut ? [] : outcomes.filter(({ baseUrl }) => !isKilled(runs, baseUrl));
  return [...problems, ...countProblems(requests, outcomes, uncut)];
}

/** The ends in all streams. */
export function streamedEnds(runs: readonly StreamRun[]): RequestEnd[] {
  return runs.flatMap(({ hub, events }) =>
    [...events.of("llm.complete"), ...events.of("llm.error")].map(({ kind, data }) => {
      return { hub, kind, requestId: String(data["requestId"]) };
    }),
  );
}

/**
 * Streams may lack an end; the logs of all hubs together have each once.
 *
 * @param mayLack - a killed hub has not written its last lines, and nobody ends what entered there
 */
function loggedProblems(
  loggedEnds: readonly RequestEnd[],
  begun: ReadonlySet<string>,
  mayLack: boolean,
): string[] {
  const byRequest = Map.groupBy(loggedEnds, ({ requestId }) => requestId);
  const lacking = mayLack ? [] : [...begun].filter((requestId) => !byRequest.has(requestId));
  return [
    ...lacking.map((requestId) => `${requestId} has no end in any log`),
    ...[...byRequest].flatMap(([requestId, ends]) => {
      const inWords = ends.map(({ hub, kind }) => `${kind} at ${hub}`).join(", ");
      return ends.length > 1 ? [`${requestId} ended ${ends.length} times: ${inWords}`] : [];
    }),
  ];
}

/** A room has one order of events: a number is that of one event, and no stream goes back. Contract §5. */
function numberProblems(runs: readonly StreamRun[], mayGap: boolean): string[] {
  const known = new Map<string, { event: RecordedEvent; hub: string }>();
  return runs.flatMap(({ hub, events: { events } }) => {
    const last = new Map<string, number>();
    return events.flatMap((event) => {
      const { id = "" } = event;
      const [, name = "", number = ""] = /^(.+)-(\d+)$/.exec(id) ?? [];
      const before = last.get(name);
      last.set(name, Number(number));
      const other = known.get(id);
      known.set(id, { event, hub });
      const isNext = before === undefined || Number(number) === before + 1;
      const isLater = mayGap && Number(number) > (before ?? 0);
      return [
        ...(isNext || isLater ? [] : [`in the stream of ${hub} ${id} comes after ${before}`]),
        ...(other === undefined || isDeepStrictEqual(other.event.data, event.data)
          ? []
          : [`${id} is ${other.event.kind} at ${other.hub} and ${event.kind} at ${hub}`]),
      ];
    });
  });
}

function generationProblems(
  { tag, attempts = 1 }: CallOutcome,
  copies: readonly Copy[],
  generations: ReadonlyMap<string, number>,
): string[] {
  const count = generations.get(tag) ?? 0;
  const seen = copies.map(({ entry }) => entry.requests.length);
  return count > Math.max(1, attempts, ...seen)
    ? [`${tag} was generated ${count} times in ${attempts} attempts`]
    : [];
}

/** Whether the hub that a client called was killed. */
function isKilled(runs: readonly StreamRun[], baseUrl: string): boolean {
  return runs.some(({ wasKilled, origin }) => wasKilled && baseUrl.startsWith(`${origin}/`));
}

function copiesOf(runs: readonly StreamRun[]): Map<string, Copy[]> {
  const requests = new Map<string, Copy[]>();
  for (const run of runs) {
    for (const entry of ledgerOf(run.events)) {
      const copies = requests.get(entry.requestId) ?? [];
      requests.set(entry.requestId, copies);
      copies.push({ run, entry });
    }
  }
  return requests;
}

/** What is wrong whatever was lost on the way. */
function copyProblems({ run, entry }: Copy): string[] {
  const { requestId, requests, ends } = entry;
  const attempts = requests.map(({ data }) => data["attempt"]);
  const isTwice = new Set(attempts).size < attempts.length;
  return [
    ...(ends.length > 1
      ? [`${requestId} ends ${ends.length} times in the stream of ${run.hub}`]
      : []),
    ...(isTwice ? [`${requestId} has attempts ${attempts.join(", ")} in that of ${run.hub}`] : []),
  ];
}

function incomplete({ run, entry }: Copy): string[] {
  if (entry.ends.length === 0) return [`${entry.requestId} has no end in the stream of ${run.hub}`];
  return orderProblems(entry).map((problem) => `${problem} in the stream of ${run.hub}`);
}

/** One request is the same at every hub. */
function differences([first, ...others]: readonly Copy[]): string[] {
  if (first === undefined) return [];
  return others.flatMap((other) => {
    const events = [...other.entry.requests, ...other.entry.ends];
    const differing = events.find((event) => {
      const same = sameOf(first.entry, event);
      return same !== undefined && !isDeepStrictEqual(same.data, event.data);
    });
    if (differing === undefined) return [];
    const hubs = `${first.run.hub} and ${other.run.hub}`;
    return [`${first.entry.requestId} has two versions of ${differing.kind}, at ${hubs}`];
  });
}

function sameOf(entry: LedgerEntry, event: RecordedEvent): RecordedEvent | undefined {
  if (event.kind !== "llm.request") return entry.ends[0];
  return entry.requests.find(({ data }) => data["attempt"] === event.data["attempt"]);
}

function mostComplete(copies: readonly Copy[]): LedgerEntry | undefined {
  const withEnd = copies.find(({ entry }) => entry.ends.length > 0);
  return (withEnd ?? copies[0])?.entry;
}

/**
 * Requests without a client, and clients that were told nothing.
 *
 * @param uncut - those whose connection must not break
 */
function countProblems(
  requests: ReadonlyMap<string, unknown>,
  outcomes: readonly CallOutcome[],
  uncut: readonly CallOutcome[],
): string[] {
  const matched = new Set(outcomes.map(({ requestId }) => requestId));
  const unmatched = [...requests.keys()].filter((requestId) => !matched.has(requestId));
  const untold = outcomes.filter(({ requestId }) => requestId === undefined);
  const silent = uncut.filter(({ requestId, end }) => requestId === undefined && end === "cut");
  return [
    ...(unmatched.length > untold.length
      ? [`${unmatched.length} requests in the events, ${untold.length} clients without an id`]
      : []),
    ...(silent.length > 0
      ? [`${silent.length} clients were cut before any response (${silent[0]?.tag})`]
      : []),
  ];
}
