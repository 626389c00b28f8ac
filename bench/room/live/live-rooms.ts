import { roomhubCommand } from "../../../tests/faults/child.ts";
import { until } from "../../../tests/support/waiting.ts";
import { type BenchHub, openRoom, sharedModel } from "../../processes/hub.ts";
import type { BenchWorld } from "../../processes/world.ts";
import type { SlotServerHandlers } from "../../programs/slot-servers.ts";
import type { MachineSpec } from "../machine.ts";
import type { Conversation } from "../traffic.ts";
import { converse, type Received } from "./conversation-client.ts";
import type { ServedJob } from "./slot-server.ts";

/** A room with machines of its own, and what is requested of it. */
export interface LiveRoom {
  machines: readonly MachineSpec[];
  conversations: readonly Conversation[];
}

export interface LiveOutcome {
  received: readonly Received[];
  /** by machine, in the order in which the requests ended */
  served: readonly (readonly ServedJob[])[];
}

export interface OpenRoom {
  run(): Promise<LiveOutcome>;
}

/** A room on a hub, with a model server and a `roomhub join` for each machine. Resolves when all have joined. */
export async function openLiveRoom(
  world: BenchWorld,
  hub: BenchHub,
  { machines, conversations }: LiveRoom,
): Promise<OpenRoom> {
  const servers = await world.once("slot servers", () =>
    world.children.program<SlotServerHandlers>(
      new URL("../../programs/slot-servers.ts", import.meta.url),
    ),
  );
  const room = await openRoom(hub);
  const urls = await Promise.all(machines.map((spec) => servers.call("start", spec)));
  for (const [index, spec] of machines.entries()) {
    const endpoint = urls[index];
    if (endpoint === undefined) throw new Error("a machine has no server");
    await join(world, hub, room, `machine-${index}`, endpoint, spec.slots);
  }
  const baseUrl = `${hub.url}/rooms/${room}/v1`;
  return {
    async run() {
      const zeroMs = performance.now();
      const received = await Promise.all(
        conversations.map((one) => converse(one, baseUrl, zeroMs)),
      );
      const served = await Promise.all(urls.map((url) => servers.call("served", url)));
      return { received: received.flat(), served };
    },
  };
}

/** One after the other, so that the order of joining is that of the machines. */
async function join(
  world: BenchWorld,
  hub: BenchHub,
  room: string,
  id: string,
  endpoint: string,
  slots: number,
): Promise<void> {
  world.children.command(
    [
      ...roomhubCommand,
      ...["join", room, "--hub", hub.url, "--endpoint", endpoint, "--id", id],
      ...["--model", sharedModel, "--max-concurrency", String(slots), "--quiet"],
    ],
    world.newPath("join.log"),
  );
  const isConnected = async () =>
    (await hub.api.listParticipants(room)).some((one) => one.id === id && one.connection.connected);
  await until(`${id} to connect`, isConnected, Boolean, 30_000);
}
