import type { Invite } from "@roomhub/client";
import type { CliContext } from "../context.ts";

/** A room, as batches use it: close it after the last request. */
export async function openBatchRoom(context: CliContext, invite: Invite) {
  const { createSender } = await import("./run/send-request.ts");
  const { hubUrl, room } = invite;
  const key = await context.roomKeys.of(invite);
  const access = { ...invite, key, pin: await context.pins.of(hubUrl) };
  const { send, close } = createSender(access);
  const client = context.createClient(hubUrl);
  // From now on no key is asked for: a batch may run at night, without anyone at the terminal.
  context.roomKeys.stopAsking();
  return {
    ...{ access, close },
    room: {
      send,
      listParticipants: (signal: AbortSignal) => client.listParticipants(room, { signal }),
      listModels: (signal: AbortSignal) => client.listModels(room, { signal }),
    },
  };
}
