import { createHub } from "@roomhub/hub";
import { SimulatedWorld } from "../../packages/protocol/src/simulated-world.fixture.ts";
import type { Server } from "node:http";
import { type Duplex, duplexPair } from "node:stream";
import { expect, test } from "vitest";

/** A hub without clock, network and randomness of its own, and everything that it says. */
async function runRoom(seed: number): Promise<string[]> {
  const world = new SimulatedWorld({ seed });
  const trace: string[] = [];
  const connect = Promise.withResolvers<(stream: Duplex) => void>();
  await using hub = createHub({
    world,
    async listen(_world, server: Server, host = "hub") {
      connect.resolve((stream) => void server.emit("connection", stream));
      return { host, port: 1, close: async () => undefined };
    },
    logFormat: "text",
    writeLog: (lines) => trace.push(lines),
  });
  await hub.listen();
  const [client, server] = duplexPair();
  (await connect.promise)(server);
  let received = "";
  client.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")));
  const post = async (path: string, body: object): Promise<string> => {
    const json = JSON.stringify(body);
    received = "";
    client.write(
      `POST ${path} HTTP/1.1\r\nHost: hub\r\nContent-Length: ${json.length}\r\n\r\n${json}`,
    );
    while (!received.endsWith("}")) await world.advance(1);
    // Node's own.
    trace.push(received.replace(/^Date: .*\r\n/m, ""));
    return received;
  };
  const [, code = ""] = /"code":"(\w+)"/.exec(await post("/rooms", { name: "lab" })) ?? [];
  hub.watch(code, (events) => trace.push(...events.map((event) => JSON.stringify(event))));
  await post(`/rooms/${code}/join`, {
    ...{ id: "ada", nickname: "Ada", model: "qwen3:8b", endpoint: "http://127.0.0.1:9/v1" },
    connection: "tunnel",
  });
  await world.advance(31_000);
  client.destroy();
  return trace;
}

test("a hub takes time, randomness and connections as arguments: the same seed gives the same bytes and events", async () => {
  const [first, same, other] = [await runRoom(1), await runRoom(1), await runRoom(2)];
  expect(first.join("\n")).toContain("participant.offline");
  expect(same).toEqual(first);
  expect(other).not.toEqual(first);
});
