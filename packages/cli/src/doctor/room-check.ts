import { RoomhubError } from "@roomhub/client";
import { isForOthers, joinLine, pastedHub, type Room } from "@roomhub/protocol";
import { explainUnknownRoom } from "../rooms/choose-room.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { countOf, safe, shellWord } from "../terminal/text.ts";
import { type Check, type Examination, failed, type Finding, ok, skipped } from "./check.ts";

/** Whether the hub has the room; when none is named, its only room. */
export const roomCheck: Check = {
  name: "room",
  waitsFor: "the hub to find the room",
  timeoutMs: 5_000,
  async run(exam, signal) {
    if (exam.health === undefined) return skipped("needs the hub");
    if (exam.roomCode === undefined) return onlyRoom(exam, signal);
    const { context, hubUrl, roomCode: room } = exam;
    try {
      return found(exam, await context.createClient(hubUrl).getRoom(room, { signal }));
    } catch (error) {
      if (!(error instanceof RoomhubError) || error.code !== "room_not_found") throw error;
      const explained = await explainUnknownRoom(context, { hubUrl, room }, error);
      if (!(explained instanceof CommandError)) throw error;
      const { message, hint, lines: details } = explained;
      const exitCode = EXIT.notFound;
      return details.length === 0
        ? failed(message, hint, { exitCode })
        : failed(`${message}; ${hint}`, undefined, { exitCode, details });
    }
  },
};

async function onlyRoom(exam: Examination, signal: AbortSignal): Promise<Finding> {
  const { context, hubUrl } = exam;
  const rooms = await context.createClient(hubUrl).listRooms({ signal });
  const [first] = rooms;
  const hub = `--hub ${shellWord(hubUrl)}`;
  if (first === undefined) {
    const fix = `${context.commandName} room create "my room" ${hub}`;
    return failed("the hub has no rooms", fix, { exitCode: EXIT.notFound });
  }
  if (rooms.length === 1) return found(exam, first);
  return skipped(
    `the hub has ${rooms.length} rooms; name one`,
    `${context.commandName} doctor ${shellWord(`${hubUrl}/rooms/${first.code}`)}`,
  );
}

function found(exam: Examination, room: Room): Finding {
  exam.room = room;
  const { participantCount: count, passwordProtected } = room;
  const participants = countOf(count, "participant");
  const password = passwordProtected ? ", a join password is needed to share" : "";
  return ok(
    `${safe(room.code)} (${safe(room.name)}), ${participants}${password}`,
    inviteOthers(exam, room),
  );
}

/** The line for machines that have only Node; none where they cannot reach the hub, or it hands out nothing. */
function inviteOthers({ hubUrl, health }: Examination, { code }: Room): string[] {
  const hub = pastedHub(hubUrl, health ?? {});
  if (!hub.isHandedOut || !isForOthers(hub.hubUrl)) return [];
  return [`another machine joins with: ${joinLine(hub, code)}`];
}
