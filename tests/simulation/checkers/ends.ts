import type { SeenEvent } from "../actors/event-watcher.ts";
import type { Generation } from "../actors/scripted-server.ts";
import type { Outcome } from "../actors/simulated-client.ts";
import type { History } from "../history.ts";
import type { Fault, Plan } from "../plan.ts";

/** The events of one request, from all watchers, each once. */
interface Course {
  attempts: SeenEvent[];
  ends: SeenEvent[];
}

/** Each request has one end in the events, and it is the one that its client saw. Contract §5, "Ledger". */
export function everyRequestEndsOnce(history: History): string[] {
  const { outcomes, agents } = history;
  const courses = coursesOf(history);
  const isComplete = hasWholeRecord(history);
  const areAttemptsKnown = isComplete || hasEveryAttempt(history);
  const problems = outcomes.flatMap((outcome) => {
    const { tag, requestId, end } = outcome;
    if (end === "open") return [`${tag} has not ended for its client`];
    const course = requestId === undefined ? undefined : courses.get(requestId);
    if (course === undefined) {
      return isComplete && outcome.status === 200 ? [`${tag} has no event`] : [];
    }
    const { ends, attempts } = course;
    const isSplit = areHubsCut(history) && new Set(ends.map(({ bootId }) => bootId)).size > 1;
    const problem = isSplit ? undefined : endsProblem(outcome, ends, isComplete, history.plan);
    const generated = agents
      .flatMap(({ server }) => server.generations)
      .filter((one) => one.tag === tag);
    return [
      ...(problem === undefined ? [] : [`${tag} (${requestId ?? ""}) ${problem}`]),
      ...(areAttemptsKnown &&
      generated.filter((one) => !mayBeSentAgain(one)).length > attempts.length
        ? [`${tag} was generated ${generated.length} times for ${attempts.length} attempts`]
        : []),
    ];
  });
  if (!isComplete && !hasWholeStream(history)) return problems;
  for (const [requestId, { ends, attempts }] of courses) {
    if (!isComplete && attempts.length === 0) continue;
    if (ends.length !== 1) problems.push(`${requestId} has ${ends.length} ends in the events`);
  }
  return problems;
}

/** Its socket broke so soon that it may have been closed before: sent once more within the attempt. Contract §3. */
export function mayBeSentAgain({ end, beganMs, endedMs = beganMs }: Generation): boolean {
  return end !== "complete" && end !== "running" && endedMs - beganMs <= 1_000;
}

/**
 * Two hubs that do not hear each other may both serve the room, each with an order of events of its own; so may one that was
 * suspended until another one took the room, and cannot ask the directory. Contract §8.
 */
function areHubsCut({ plan: { faults, hubs } }: History): boolean {
  const areCut = faults.some(
    (fault) => fault.kind === "cut" && hubs.includes(fault.one) && hubs.includes(fault.other),
  );
  const happensAt = (kind: Fault["kind"], hub: string) =>
    faults.some((fault) => fault.kind === kind && "machine" in fault && fault.machine === hub);
  return areCut || hubs.some((hub) => happensAt("freeze", hub) && happensAt("no directory", hub));
}

/** No hub was killed and no watcher missed anything: the events tell of everything. */
function hasWholeRecord({ hubs, watchers }: History): boolean {
  return hubs.length === 1 && hubs[0]?.kills === 0 && watchers[0]?.connections === 1;
}

/** No hub ended, and one watcher missed nothing: of what began, it has the end. */
function hasWholeStream({ plan, watchers }: History): boolean {
  const endsHub = plan.faults.some(
    (fault) =>
      (fault.kind === "kill" || fault.kind === "stop") && plan.hubs.includes(fault.machine),
  );
  return !endsHub && watchers.some(({ connections }) => connections === 1);
}

/** Nothing but model servers failed, and one watcher missed nothing. */
function hasEveryAttempt({ plan, watchers }: History): boolean {
  const areHubsWhole = plan.faults.every(({ kind }) => kind === "model server");
  return areHubsWhole && watchers.some(({ connections }) => connections === 1);
}

function endsProblem(
  outcome: Outcome,
  ends: SeenEvent[],
  isComplete: boolean,
  { hubs, faults }: Plan,
): string | undefined {
  const [end, ...further] = ends;
  if (further.length > 0)
    return `has ${ends.length} ends: ${ends.map(({ type }) => type).join(", ")}`;
  if (end === undefined) return isComplete ? "has no end in the events" : undefined;
  const isCompleteEvent = end.type.endsWith("complete");
  // A home that loses the hub of the client never learns what that one still delivered. Contract §6.
  if (hubs.length > 1 && codeOf(end) === "client_disconnected") return undefined;
  switch (outcome.end) {
    case "complete":
      return isCompleteEvent ? undefined : `is complete, and its event is ${codeOf(end)}`;
    case "error":
      if (isCompleteEvent)
        return `ended with ${outcome.code ?? "an error"}, and its event says complete`;
      if (outcome.code === "peer_unavailable" && hubs.length > 1 && faults.some(breaksHops))
        return undefined;
      return outcome.code !== undefined && codeOf(end) !== outcome.code && isOurs(outcome.code)
        ? `ended with ${outcome.code}, and its event with ${codeOf(end)}`
        : undefined;
    default:
      return undefined;
  }
}

/** What the home of a room says to a client may be lost on the way to the client's hub. Contract §8. */
function breaksHops({ kind }: Fault): boolean {
  return ["reset", "hop reset", "cut", "broken dials", "freeze", "kill", "stop"].includes(kind);
}

/** Codes of the hub; a model server's own error passes with any code. */
function isOurs(code: string): boolean {
  return code.includes("_") && code !== "unnamed";
}

function codeOf({ data }: SeenEvent): string {
  return String(data["code"]);
}

/** By request id. */
export function coursesOf({ watchers }: History): Map<string, Course> {
  const courses = new Map<string, Course>();
  const seen = new Set<string>();
  for (const event of watchers.flatMap(({ events }) => events)) {
    const kind = event.type.replace(":", ".");
    const key = `${event.bootId}-${event.number}`;
    if (!kind.startsWith("llm.") || seen.has(key)) continue;
    seen.add(key);
    const requestId = String(event.data["requestId"]);
    const course = courses.get(requestId) ?? { attempts: [], ends: [] };
    courses.set(requestId, course);
    (kind === "llm.request" ? course.attempts : course.ends).push(event);
  }
  return courses;
}
