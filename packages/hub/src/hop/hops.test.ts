import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { HopTarget } from "./dial.ts";
import {
  ada,
  bob,
  hopsTo,
  startAcceptor,
  startEntry,
  startEntryAt,
  startHome,
} from "./hop.fixture.ts";

describe("a hub that is dead", () => {
  test("has no request and no WebSocket any more, and new connections should it be back", async () => {
    await using stack = new AsyncDisposableStack();
    let isBack = false;
    const arrived: IncomingMessage[] = [];
    const upgraded: Socket[] = [];
    const home = await startHome(
      stack,
      bob,
      (request, response) => {
        arrived.push(request);
        if (isBack) response.end("ok");
      },
      (_request, socket) => {
        upgraded.push(socket);
        socket.write("HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      },
    );
    const entry = await startEntry(stack, home);
    const url = `http://127.0.0.1:${entry.port}/`;
    const asked = fetch(url);
    const client = connect(entry.port, "127.0.0.1").on("error", () => {});
    client.write("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    await expect.poll(() => [arrived.length, upgraded.length]).toEqual([1, 1]);
    await once(client, "data");
    const closed = once(client, "close");
    entry.hops.hubGone({ ...bob, bootId: "000000b0" });
    entry.hops.hubGone(bob);
    await closed;
    expect([(await asked).status, entry.kinds(), entry.upgrades]).toEqual([
      ...[502, ["broken"], ["over"]],
    ]);
    isBack = true;
    expect(await (await fetch(url)).text()).toBe("ok");
  });

  test("has left no connection of its own behind", async () => {
    await using stack = new AsyncDisposableStack();
    const hops = hopsTo([], { serve: (socket) => void served.emit("connection", socket) });
    const home = await startAcceptor(stack, bob, (socket, _kind, peer) => {
      hops.accepted(socket, peer);
    });
    const served = createServer((request) => {
      expect(hops.peerOf(request.socket)).toEqual(ada);
      hops.hubGone({ ...ada, bootId: "000000a2" });
      expect(request.socket.destroyed).toBe(false);
      hops.hubGone(ada);
    });
    const entry = await startEntry(stack, home);
    expect((await fetch(`http://127.0.0.1:${entry.port}/`)).status).toBe(502);
  });

  test("is not reached by a connection that was being dialled", async () => {
    await using stack = new AsyncDisposableStack();
    const home = await startHome(stack, bob, (_request, response) => void response.end("ok"));
    const { hops } = await startEntry(stack, home);
    const asked = hops.ask(bob, "/", new AbortController().signal);
    hops.close();
    await expect(asked).rejects.toThrow();
    await home.dialled;
    await expect.poll(() => home.sockets.size).toBe(0);
  });
});

test("a connection that is idle for 60 s is closed, the last ones used stay longest", async () => {
  await using stack = new AsyncDisposableStack();
  const waiting: (() => void)[] = [];
  const home = await startHome(stack, bob, (_request, response) => {
    waiting.push(() => response.end("ok"));
  });
  let nowMs = 0;
  const entry = await startEntryAt(stack, () => nowMs, home);
  const ask = async (count: number) => {
    const asked = Array.from({ length: count }, () =>
      fetch(`http://127.0.0.1:${entry.port}/`).then((response) => response.text()),
    );
    await expect.poll(() => waiting.length).toBe(count);
    for (const end of waiting.splice(0)) end();
    await Promise.all(asked);
  };
  await ask(2);
  nowMs = 30_000;
  await ask(1);
  nowMs = 60_000;
  entry.hops.tick();
  await expect.poll(() => home.sockets.size).toBe(1);
  nowMs = 90_000;
  entry.hops.tick();
  await expect.poll(() => home.sockets.size).toBe(0);
});

describe("a hub that is there under another run", () => {
  test("gets nothing that is meant for the run before", async () => {
    await using stack = new AsyncDisposableStack();
    const runs: HopTarget[] = [];
    for (const bootId of ["000000b1", "000000b2"]) {
      const self = { ...bob, bootId };
      runs.push(await startHome(stack, self, (_request, response) => void response.end(bootId)));
    }
    const present: HopTarget[] = [];
    const hops = hopsTo(present);
    stack.defer(() => hops.close());
    const ask = async (run: HopTarget | undefined) =>
      text(await hops.ask(run ?? bob, "/", new AbortController().signal));
    present.splice(0, 1, runs[0]!);
    expect(await ask(runs[0])).toBe("000000b1");
    present.splice(0, 1, runs[1]!);
    await expect(ask(runs[0])).rejects.toThrow("not there");
    expect(await ask(runs[1])).toBe("000000b2");
  });
});

describe("what a hub itself says", () => {
  test("is a message with a response", async () => {
    await using stack = new AsyncDisposableStack();
    const got: string[] = [];
    const home = await startHome(stack, bob, (request, response) => {
      void text(request).then((body) => {
        got.push(`${request.method} ${request.url} ${body}`);
        if (request.url === "/cut") request.socket.destroy();
        else response.writeHead(request.url === "/yes" ? 204 : 409).end();
      });
    });
    const { hops } = await startEntry(stack, home);
    const { signal } = new AbortController();
    const told = [];
    for (const path of ["/yes", "/no"]) {
      const response = await hops.ask(bob, path, signal, "ä");
      told.push(response.resume().statusCode);
    }
    await expect(hops.ask(bob, "/cut", signal, "ä")).rejects.toThrow("hang up");
    expect([told, got]).toEqual([
      [204, 409],
      ["POST /yes ä", "POST /no ä", "POST /cut ä"],
    ]);
    await expect(hops.ask(ada, "/yes", signal, "")).rejects.toThrow("not there");
  });

  test("ends with its signal, also while the response is read", async () => {
    await using stack = new AsyncDisposableStack();
    const home = await startHome(stack, bob, (_request, response) => void response.write("half"));
    const { hops } = await startEntry(stack, home);
    const abort = new AbortController();
    const response = await hops.ask(bob, "/", abort.signal);
    await once(response, "data");
    const read = text(response);
    abort.abort();
    await expect(read).rejects.toThrow();
    await expect.poll(() => home.sockets.size).toBe(0);
  });
});
