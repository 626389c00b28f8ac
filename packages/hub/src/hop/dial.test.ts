import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { HopDialler, type HopTarget } from "./dial.ts";
import { ada, bob, listening, refusingUrl, secret, startAcceptor, world } from "./hop.fixture.ts";

/** A hub that takes connections, and those that it has. */
async function startBob(stack: AsyncDisposableStack) {
  const accepted: string[] = [];
  const target = await startAcceptor(stack, bob, (socket, kind, peer) => {
    accepted.push(`${kind} of ${peer.hubId} ${peer.bootId}`);
    socket.write("hello");
  });
  return { target, accepted };
}

const dial = (
  target: HopTarget,
  options: Partial<ConstructorParameters<typeof HopDialler>[0]> = {},
) =>
  new HopDialler({ self: ada, secret, world, onRefused() {}, ...options }).dial(target, "control");

describe("a dialled hub", () => {
  test("has a connection that both have proven, with all that is said on it", async () => {
    await using stack = new AsyncDisposableStack();
    const { target, accepted } = await startBob(stack);
    const socket = await dial(target);
    expect(String((await once(socket, "data"))[0])).toBe("hello");
    expect(accepted).toEqual([`control of ${ada.hubId} ${ada.bootId}`]);
    socket.destroy();
  });

  test("may have another clock: it is dialled once more by that, and at once the next time", async () => {
    await using stack = new AsyncDisposableStack();
    const { target, accepted } = await startBob(stack);
    let looks = 0;
    const late = { ...world, wallMs: () => world.wallMs() + ((looks += 1), 3_600_000) };
    const dialler = new HopDialler({ self: ada, secret, world: late, onRefused() {} });
    (await dialler.dial(target, "control")).destroy();
    const before = looks;
    (await dialler.dial(target, "requests")).destroy();
    expect([accepted.length, looks - before]).toEqual([2, 1]);
  });

  test.each([
    ["another run of it", { bootId: "000000b2" }, {}, "wrong-hub"],
    ["another secret", {}, { secret: Buffer.alloc(32, "other") }, "unproven"],
  ])("refuses what is meant for %s, which says nothing of its computer", async (...row) => {
    const [_what, wish, own, problem] = row;
    await using stack = new AsyncDisposableStack();
    const { target, accepted } = await startBob(stack);
    const refused: string[] = [];
    const failed = dial(
      { ...target, ...wish },
      { onRefused: (hubId) => refused.push(hubId), ...own },
    );
    await expect(failed).rejects.toThrow(problem);
    expect([accepted, target.sockets.size, refused]).toEqual([[], 0, []]);
  });

  test("is believed only if it knows the secret, too", async () => {
    const stranger = createServer();
    stranger.on("upgrade", (_request, socket) =>
      socket.write("HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: roomhub-hop\r\n\r\n"),
    );
    const linkUrl = `http://127.0.0.1:${await listening(stranger)}`;
    await expect(dial({ ...bob, linkUrl })).rejects.toThrow("does not know the cluster's secret");
    stranger.close();
  });
});

test("a computer at which nothing listens refuses", async () => {
  const linkUrl = await refusingUrl();
  const refused: string[] = [];
  const failed = dial({ ...bob, linkUrl }, { onRefused: (hubId) => refused.push(hubId) });
  await expect(failed).rejects.toThrow("ECONNREFUSED");
  expect(refused).toEqual([bob.hubId]);
});

test("what proves nothing gets its refusal and the hub's time, and keeps no connection", async () => {
  await using stack = new AsyncDisposableStack();
  const { target, accepted } = await startBob(stack);
  const socket = connect(Number(new URL(target.linkUrl).port), "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: roomhub-hop\r\n\r\n");
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 401 [^]*x-roomhub-time: 1000000\r\n/);
  expect(accepted).toEqual([]);
});
