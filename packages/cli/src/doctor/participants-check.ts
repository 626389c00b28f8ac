import type { ParticipantSummary, RouteCandidate } from "@roomhub/protocol";
import { servedWords } from "../sharing/served-surfaces.ts";
import { loadSentence } from "../terminal/load-text.ts";
import { safe, shellWord } from "../terminal/text.ts";
import { type Check, type Examination, failed, type Finding, ok, skipped } from "./check.ts";

/** Further ones are only counted. */
const listed = 20;

/** Which participants are in the room and reachable. An unreachable one is no failure while another can serve. */
export const participantsCheck: Check = {
  name: "participants",
  waitsFor: "the hub to list the participants",
  timeoutMs: 5_000,
  async run(exam, signal) {
    const { context, hubUrl, room } = exam;
    if (room === undefined) return skipped("needs the room");
    const client = context.createClient(hubUrl);
    const participants = await client.listParticipants(room.code, { signal });
    exam.participants = participants;
    const roomUrl = shellWord(`${hubUrl}/rooms/${room.code}`);
    if (participants.length === 0) {
      return failed("the room has no participants", `${context.commandName} join ${roomUrl}`);
    }
    const { participants: candidates } = await client.explainRoute(room.code, {}, { signal });
    const reachable = candidates.filter(canServe).length;
    const waitedFor = candidates.filter(({ verdict }) => verdict === "loading");
    const resuming = waitedFor.filter(({ connection }) => connection.resuming !== undefined).length;
    const loading = waitedFor.length - resuming;
    const details = describe(participants, new Map(candidates.map((one) => [one.id, one])));
    if (!isForChat(participants)) {
      return withoutChat(exam, participants, details, roomUrl);
    }
    const found =
      `${reachable} of ${participants.length} can serve a chat request now` +
      moreText(loading, "is loading its model", "are loading their models") +
      moreText(resuming, "has lost its connection", "have lost their connections");
    return reachable + waitedFor.length > 0
      ? ok(found, details)
      : failed(found, fixFor(exam, participants, roomUrl), { details });
  },
};

/** Whether a participant of the room may have chat; also of a room without any. */
export function isForChat(participants: readonly ParticipantSummary[] = []): boolean {
  return (
    participants.length === 0 ||
    participants.some(({ capabilities }) => capabilities.chatCompletions !== "unsupported")
  );
}

/** A room for sound, pictures or vectors alone. */
function withoutChat(
  exam: Examination,
  participants: readonly ParticipantSummary[],
  details: string[],
  roomUrl: string,
): Finding {
  const ready = participants.filter(({ status }) => status === "online");
  const words = new Set(ready.flatMap(({ capabilities }) => servedWords(capabilities)));
  const found = `${ready.length} of ${participants.length} can serve ${[...words].join(", ") || "requests"}`;
  return ready.length > 0
    ? ok(found, details)
    : failed(found, fixFor(exam, participants, roomUrl), { details });
}

function canServe({ verdict }: RouteCandidate): boolean {
  return verdict !== "passed-over" && verdict !== "loading";
}

function moreText(count: number, one: string, several: string): string {
  if (count === 0) return "";
  return count === 1 ? `; 1 more ${one}` : `; ${count} more ${several}`;
}

function describe(
  participants: readonly ParticipantSummary[],
  routes: ReadonlyMap<string, RouteCandidate>,
): string[] {
  const lines = participants.slice(0, listed).map((one) => {
    const { id, model, status, connection, load, capabilities } = one;
    const route = routes.get(id);
    const state =
      route === undefined || canServe(route)
        ? `${connection.path}, ${loadSentence(load)}`
        : safe(route.reason);
    return `${safe(id)} (${safe(model)}): ${status}, ${state}; ${surfacesOf(capabilities)}`;
  });
  const more = participants.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more`] : lines;
}

function surfacesOf(capabilities: ParticipantSummary["capabilities"]): string {
  const { chatCompletions, openResponses } = capabilities;
  if (chatCompletions === "unsupported") {
    return `can serve ${servedWords(capabilities).join(", ") || "nothing that is known"}`;
  }
  return chatCompletions === openResponses
    ? `chat and responses ${chatCompletions}`
    : `chat ${chatCompletions}, responses ${openResponses}`;
}

/** A connected agent reports what is wrong with its model server. */
function fixFor(
  { context }: Examination,
  participants: readonly ParticipantSummary[],
  roomUrl: string,
): string {
  const { commandName } = context;
  const join = `${commandName} join ${roomUrl}`;
  const waiting = participants.find((one) => one.status !== "offline");
  if (waiting === undefined) return join;
  const endpoint = safe(waiting.endpoint);
  switch (waiting.connection.readiness) {
    case "needs-credentials":
      return `join again with credentials: ${join} --endpoint ${shellWord(endpoint)} --header-env Authorization=VARIABLE`;
    case "wrong-model":
      return `join with the model that ${endpoint} serves now: ${join} --endpoint ${shellWord(endpoint)}`;
    default:
      return `start the model server of ${safe(waiting.id)} at ${endpoint}; then: ${commandName} doctor ${roomUrl}`;
  }
}
