import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { EventBus } from "../events/bus.ts";
import { EventStreams } from "./event-stream.ts";

const limits = { subscribersPerRoom: 10, subscriberBufferBytes: 1_024, eventCommentMs: 15_000 };

/** A hub's stream of one room, whose other hubs have heard of it when the promise says so. */
async function serveStream(untilHeard: () => Promise<void> | undefined) {
  const bus = new EventBus("0000000a", (flush) => flush());
  const streams = new EventStreams(bus, limits, () => 0, untilHeard);
  const options = { roomCode: "ABC234", spelling: "dot", isDetailed: false } as const;
  const server = createServer((_request, response) => {
    streams.open(response, options, () => {});
    server.emit("opened");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    bus,
    /** Resolves once the hub has taken the request. */
    async request() {
      const opened = once(server, "opened");
      const response = fetch(`http://127.0.0.1:${port}/`);
      await opened;
      return { response };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function firstText(response: Response): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  return (await reader?.read())?.value ?? "";
}

test("a stream begins once the other hubs know of it, with what happened meanwhile behind its greeting", async () => {
  const heard = Promise.withResolvers<void>();
  const waits = [heard.promise];
  await using hub = await serveStream(() => waits.shift());
  const { response } = await hub.request();
  let hasBegun = false;
  void response.then(() => (hasBegun = true));
  hub.bus.publish("ABC234", "participant.left", () => "2030-01-01T00:00:00.000Z", {
    participantId: "ada",
    nickname: "Ada",
  });
  // One that has nothing to wait for overtakes it.
  await firstText(await (await hub.request()).response);
  expect(hasBegun).toBe(false);
  heard.resolve();
  const text = await firstText(await response);
  expect(text).toMatch(/^retry: 2000\n\n: roomhub events\n\n[^]*participant\.left/);
});

test("a stream of a hub that is alone begins at once", async () => {
  await using hub = await serveStream(() => undefined);
  const { response } = await hub.request();
  expect(await firstText(await response)).toContain(": roomhub events");
});
