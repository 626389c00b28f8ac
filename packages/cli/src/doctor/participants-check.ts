import type { ParticipantSummary, RouteCandidate } from "@roomhub/protocol";
import { safe, shellWord } from "../text.ts";
import type { Check, Examination } from "./check.ts";
import { failed, ok, skipped } from "./finding.ts";

/** More are only counted. */
const listed = 20;

/** Who is in the room, and who of them can be reached. One who is away is no fault while somebody else is there. */
export const participantsCheck: Check = {
  name: "participants",
  waitsFor: "the hub to list the participants",
  timeoutMs: 5_000,
  async look(exam, signal) {
    const { context, hubUrl, room } = exam;
    if (room === undefined) return skipped("needs the room");
    const client = context.createClient(hubUrl);
    const participants = await client.listParticipants(room.code, { signal });
    exam.participants = participants;
    const roomUrl = shellWord(`${hubUrl}/rooms/${room.code}`);
    if (participants.length === 0) {
      return failed("nobody has joined the room yet", `${context.commandName} join ${roomUrl}`);
    }
    const { participants: anybody } = await client.explainRoute(room.code, {}, { signal });
    const reachable = anybody.filter(canServe).map(({ id }) => id);
    const details = describe(participants, new Map(anybody.map((one) => [one.id, one])));
    const found = `${reachable.length} of ${participants.length} can serve a chat request now`;
    return reachable.length > 0
      ? ok(found, details)
      : failed(found, fixFor(exam, participants, roomUrl), { details });
  },
};

function canServe({ verdict }: RouteCandidate): boolean {
  return verdict !== "passed-over";
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
        ? `${connection.path}, ${load.active}/${load.limit} running`
        : safe(route.reason);
    return `${safe(id)} (${safe(model)}): ${status}, ${state}; ${surfacesOf(capabilities)}`;
  });
  const more = participants.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more`] : lines;
}

function surfacesOf({
  chatCompletions,
  openResponses,
}: ParticipantSummary["capabilities"]): string {
  return chatCompletions === openResponses
    ? `chat and responses ${chatCompletions}`
    : `chat ${chatCompletions}, responses ${openResponses}`;
}

/** An agent that is there says itself what is wrong with its model server. */
function fixFor(
  { context }: Examination,
  participants: readonly ParticipantSummary[],
  roomUrl: string,
): string {
  const { commandName } = context;
  const waiting = participants.find((one) => one.status === "online");
  return waiting === undefined
    ? `${commandName} join ${roomUrl}`
    : `start the model server of ${safe(waiting.id)} at ${safe(waiting.endpoint)}; then: ${commandName} doctor ${roomUrl}`;
}
