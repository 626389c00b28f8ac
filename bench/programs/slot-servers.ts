/** The machines of the live rooms, all in one process: what they do is wait. */
import { serveHarness } from "../../tests/faults/programs/rpc.ts";
import type { MachineSpec } from "../room/machine.ts";
import { type ServedJob, type SlotServer, startSlotServer } from "../room/live/slot-server.ts";

const servers = new Map<string, SlotServer>();

const handlers = {
  /** @returns its endpoint */
  async start(spec: MachineSpec): Promise<string> {
    const server = await startSlotServer(spec);
    servers.set(server.url, server);
    return server.url;
  },
  served: (url: string): readonly ServedJob[] => servers.get(url)?.served ?? [],
};
export type SlotServerHandlers = typeof handlers;
serveHarness(handlers);
