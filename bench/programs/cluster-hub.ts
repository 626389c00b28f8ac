/** A hub of a cluster, in a process of its own, that also makes changes and events. Argument: the URL of NATS. */
import { createHub, NatsDirectory } from "@roomhub/hub";
import { ChangeMaker, type ChangeRates } from "../scale/change-maker.ts";
import { serveHarness } from "../../tests/faults/programs/rpc.ts";

const [, , natsUrl = ""] = process.argv;
const directory = new NatsDirectory({ servers: [natsUrl] });
const hub = createHub({
  port: 0,
  cluster: { directory, secret: Buffer.alloc(32, "bench") },
  limits: { participantsPerRoom: 100_000, participantsPerHub: 100_000 },
});
const { url } = await hub.listen();
let maker: ChangeMaker | undefined;

const handlers = {
  url: () => url,
  /** bytes after a full collection */
  heapBytes: () => {
    globalThis.gc?.();
    return process.memoryUsage().heapUsed;
  },
  start: async ({
    roomCode,
    name,
    rates,
  }: {
    roomCode: string;
    name: string;
    rates: ChangeRates;
  }) => {
    maker ??= new ChangeMaker(directory, roomCode, name);
    await maker.start(rates);
  },
  stop: () => maker?.stop(),
};
export type ClusterHubHandlers = typeof handlers;
serveHarness(handlers);
