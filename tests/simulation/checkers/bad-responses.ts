import { badResponses } from "../../support/providers/bad-responses.ts";
import type { Outcome } from "../actors/simulated-client.ts";
import type { History } from "../history.ts";
import { type BadMood, type Fault, mayGoTo, type PlannedRequest } from "../plan.ts";
import { ofLoad } from "./service.ts";

/** With nothing broken but responses of model servers, only the requests that they responded to fail. Contract §3. */
export function badResponsesStayWhereTheyAre(history: History): string[] {
  if (!areOnlyResponsesBad(history)) return [];
  return [...wrongEnds(history), ...spread(history), ...harmed(history)];
}

/** A request whose model server sent no valid response ends with the error for that, or another one has served it. */
function wrongEnds(history: History): string[] {
  const { plan, agents, outcomes } = history;
  // Of a server that cannot be looked after, its participant may say that it is down.
  const canBeDown = plan.faults.some((fault) => badMoodOf(fault)?.isEverywhere === true);
  const unsent = canBeDown ? ["participant_offline"] : [];
  const generations = agents.flatMap(({ server }) => server.generations);
  return outcomes.flatMap((outcome) => {
    const ofIt = generations.filter((one) => one.tag === outcome.tag);
    const sent = new Set(ofIt.flatMap((one) => one.sent ?? []));
    if (outcome.end === "left" || isOfLoad(outcome)) return [];
    const allowed = badResponses
      .filter(({ name }) => sent.has(name))
      .flatMap(({ stream, json }) => (outcome.isStream ? stream : json))
      .concat(sent.size === 0 ? unsent : []);
    const isServed = ofIt.some(({ end }) => end === "complete");
    const end = outcome.end === "error" ? (outcome.code ?? "an error without a code") : outcome.end;
    // HTML is a transcript, too. Contract §4, "Few servers".
    const isTranscript = sent.has("HTML") && plan.requests.some(isFormOf(outcome));
    if (allowed.includes(end) || (end === "complete" && (isServed || isTranscript))) return [];
    return [
      `${outcome.tag} ended with ${end}, and its model server sent ${[...sent].join(", ") || "nothing"}`,
    ];
  });
}

/** A request that a model server has begun to respond to with success is sent to no other one. Contract §3, "Retry". */
function spread({ agents }: History): string[] {
  const generations = agents.flatMap(({ server }) => server.generations);
  return generations.flatMap(({ tag, server, beganMs, sent }) => {
    const bytes = badResponses.find(({ name }) => name === sent)?.bytes ?? "";
    if (!bytes.startsWith("HTTP/1.1 200")) return [];
    return generations
      .filter((one) => one.tag === tag && one.server !== server && one.beganMs > beganMs)
      .map((one) => `${tag} was sent to ${one.server} after ${server} had sent ${sent!}`);
  });
}

/** Requests that none of these model servers may serve are complete, and no participant is offline. */
function harmed(history: History): string[] {
  const { plan, outcomes, watchers } = history;
  const bad = plan.agents.filter(({ name }) =>
    plan.faults.some((fault) => fault.kind === "model server" && fault.machine === name),
  );
  const others = outcomes.filter((outcome) => {
    const { selector } = plan.requests.find(({ tag }) => tag === outcome.tag)!;
    const isTheirs = bad.some(({ name, model }) => mayGoTo(selector, name, model));
    return !isTheirs && outcome.end !== "complete" && outcome.end !== "left" && !isOfLoad(outcome);
  });
  const offline = watchers
    .flatMap(({ events }) => events)
    .filter(({ type }) => type.endsWith("offline"))
    .map(({ data }) => `${String(data["participantId"])} is offline`);
  return [
    ...others.map(({ tag, end, code }) => `${tag} ended with ${code ?? end} at another one`),
    ...new Set(offline),
  ];
}

function isFormOf({ tag }: Outcome) {
  return (one: PlannedRequest) => one.tag === tag && one.isForm;
}

function isOfLoad({ code }: Outcome): boolean {
  return ofLoad.has(code ?? "");
}

function areOnlyResponsesBad({ plan: { faults, agents } }: History): boolean {
  if (faults.length === 0 || agents.some(({ budget }) => budget !== undefined)) return false;
  return faults.every((fault) => badMoodOf(fault) !== undefined);
}

function badMoodOf(fault: Fault): BadMood | undefined {
  return fault.kind === "model server" && typeof fault.mood === "object" ? fault.mood : undefined;
}
