import type { Outcome } from "../actors/simulated-client.ts";
import type { History } from "../history.ts";
import type { Fault, Plan } from "../plan.ts";
import { coursesOf } from "./ends.ts";
import { ofLoad } from "./service.ts";

/** Well below `drainMs`. */
const drainedMs = 25_000;

/** Longer than a request is on its way to a hub. */
const arrivesMs = 100;

/** A longer body is not sent to another hub, nor a form that still comes. Contract §4, "Forms", and §8. */
const sentAgainBytes = 60 * 1024;

/**
 * A hub that ends costs what ran at it, or over it, and nothing that is sent to another hub afterwards: that waits until the
 * room has its next home. Contract §8.
 */
export function otherHubsGoOn({ plan, outcomes }: History): string[] {
  const end = onlyEndOf(plan);
  if (end === undefined || plan.hubs.length === 1) return [];
  // What has not ended in order by then is killed.
  const killedMs = [...(end.kind === "kill" ? [end.atMs] : []), end.atMs + end.forMs];
  // Until its end has reached them, other hubs send requests there.
  const seenMs = slowestMs(plan);
  return outcomes.flatMap((outcome) => {
    const { tag, end: how, code, sentMs, endedMs = sentMs } = outcome;
    const isCut = code === "hub_shutting_down" && endedMs > end.atMs + drainedMs;
    const isHit = isCut || killedMs.some((ms) => sentMs <= ms + seenMs && ms <= endedMs);
    if (isAt(plan, outcome, end.machine) || isHit || isServed(plan, outcome)) return [];
    return [`${tag} ended with ${code ?? how} though its hub did not`];
  });
}

/** A hub that stops lets what it has finish, wherever that runs. Contract §8. */
export function stoppingLetsFinish({ plan, outcomes }: History): string[] {
  const end = onlyEndOf(plan);
  if (end?.kind !== "stop") return [];
  const untilMs = end.atMs + Math.min(end.forMs, drainedMs);
  return outcomes
    .filter(({ sentMs }) => sentMs + arrivesMs < end.atMs)
    .filter(({ endedMs = untilMs }) => end.atMs < endedMs && endedMs < untilMs)
    .filter((outcome) => !isServed(plan, outcome))
    .map(({ tag, end: how, code }) => `${tag} ended with ${code ?? how} while a hub stopped`);
}

/**
 * What a killed home did not live to tell, the hub of the client tells once readers of the room are back. Contract §8. Of
 * what ends while a room is handed over they may miss the end: there is no replay.
 */
export function lostRequestsEnd(history: History): string[] {
  const { plan, outcomes } = history;
  const end = onlyEndOf(plan, ["slow network", "model server", "clock"]);
  if (end?.kind !== "kill" || plan.hubs.length === 1) return [];
  const courses = coursesOf(history);
  return outcomes.flatMap((outcome) => {
    const { tag, requestId, end: how, endedMs = 0 } = outcome;
    // The hub of a client that left in this moment has told the home, which did not live to publish it.
    if (how === "left" && Math.abs(endedMs - end.atMs) < arrivesMs + slowestMs(plan)) return [];
    const course = requestId === undefined ? undefined : courses.get(requestId);
    if (course === undefined || how === "complete" || isAt(plan, outcome, end.machine)) return [];
    return course.ends.length === 1 ? [] : [`${tag} has ${course.ends.length} ends in the events`];
  });
}

/**
 * The end of a hub, where nothing else is broken.
 *
 * @param harmless - faults that do not count; default: a network that is slow breaks nothing
 */
function onlyEndOf({ faults, hubs }: Plan, harmless: Fault["kind"][] = ["slow network"]) {
  const [end, ...further] = faults.filter(({ kind }) => !harmless.includes(kind));
  if (end === undefined || further.length > 0) return undefined;
  const isEnd = (end.kind === "kill" || end.kind === "stop") && hubs.includes(end.machine);
  return isEnd ? end : undefined;
}

/** What a slow network adds to the way from one machine to another at most. */
function slowestMs({ faults }: Plan): number {
  return Math.max(0, ...faults.map((fault) => (fault.kind === "slow network" ? fault.mostMs : 0)));
}

function isAt({ hubs, requests }: Plan, { tag }: Outcome, hub: string): boolean {
  return hubs[requests.find((one) => one.tag === tag)!.hub] === hub;
}

function isServed({ requests }: Plan, { tag, end, code }: Outcome): boolean {
  if (end === "complete" || end === "left") return true;
  const { isForm, promptBytes } = requests.find((one) => one.tag === tag)!;
  const mayBeRefused = isForm || promptBytes > sentAgainBytes;
  return code !== undefined && (ofLoad.has(code) || (mayBeRefused && code === "peer_unavailable"));
}
