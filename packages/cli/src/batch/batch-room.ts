import type { Invite } from "@roomhub/client";
import type { CliContext } from "../context.ts";
import type { RunOptions } from "./run/run-batch.ts";
import type { RoomAccess } from "./run/send-request.ts";

/** A room, as batches use it: close it after the last request. */
export interface BatchRoom {
  access: RoomAccess;
  room: RunOptions["room"];
  close: () => void;
}

export async function openBatchRoom(context: CliContext, invite: Invite): Promise<BatchRoom> {
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
      listParticipants: (signal) => client.listParticipants(room, { signal }),
      listModels: (signal) => client.listModels(room, { signal }),
    },
  };
}
