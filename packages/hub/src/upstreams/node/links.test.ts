import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ForwardReply } from "../../inference/forwarding/forwarded-request.ts";
import { aRequest, aTarget, someFacts } from "./forward.fixture.ts";
import { createLinkedHubs, delivered } from "./link-pair.fixture.ts";

let hubs: ReturnType<typeof createLinkedHubs>;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  hubs = createLinkedHubs();
});
afterEach(() => {
  hubs.closeAll();
  vi.useRealTimers();
});

/** Two hubs that dialled each other. */
async function twoHubs() {
  const [ada, bob] = [hubs.add("a"), hubs.add("b")];
  ada.links.hubPresent(bob.target);
  bob.links.hubPresent(ada.target);
  await delivered();
  return { ada, bob };
}

describe("links between hubs", () => {
  test("open both ways and say so once", async () => {
    const { ada, bob } = await twoHubs();
    expect([ada.heard, bob.heard]).toEqual([["opened b"], ["opened a"]]);
    expect(ada.links.isOpen(bob.hubId)).toBe(true);
    ada.links.hubPresent(bob.target);
    await delivered();
    expect([ada.dialled.length, ada.heard]).toEqual([1, ["opened b"]]);
  });

  test("carry questions and their responses, many at once", async () => {
    const { ada, bob } = await twoHubs();
    const questions = Array.from({ length: 20 }, (_, n) =>
      ada.links.ask(bob.hubId, `/q/${n}`, { n, text: "x".repeat(n * 9_000) }, 1_000),
    );
    await delivered(400);
    for (const [n, response] of (await Promise.all(questions)).entries()) {
      expect(response).toMatchObject({ status: 200, body: { from: "a", path: `/q/${n}` } });
      expect((response.body as { body: { text: string } }).body.text).toHaveLength(n * 9_000);
    }
  });

  test("end a question without a response at its time limit, and others go on", async () => {
    const { ada, bob } = await twoHubs();
    bob.handlers.asked = (_hub, path) =>
      path === "/slow" ? new Promise(() => {}) : Promise.resolve({ status: 200, body: path });
    const slow = ada.links.ask(bob.hubId, "/slow", null, 300);
    const outcome = expect(slow).rejects.toMatchObject({ code: "peer_unavailable" });
    await delivered();
    vi.advanceTimersByTime(300);
    await outcome;
    const quick = ada.links.ask(bob.hubId, "/quick", null, 300);
    await delivered();
    expect(await quick).toEqual({ status: 200, body: "/quick" });
  });

  test("report a handler that rejects as a bug, and the question fails", async () => {
    const { ada, bob } = await twoHubs();
    bob.handlers.asked = () => Promise.reject(new Error("oops"));
    const question = ada.links.ask(bob.hubId, "/q", null, 300);
    const outcome = expect(question).rejects.toMatchObject({ code: "peer_unavailable" });
    await delivered();
    await outcome;
    expect(bob.heard.at(-1)).toBe("bug Error: oops");
  });

  test("pass notices on in order, to one hub and to all", async () => {
    const { ada, bob } = await twoHubs();
    const cleo = hubs.add("c");
    ada.links.hubPresent(cleo.target);
    await delivered();
    ada.links.notify(bob.hubId, { kind: "load" });
    ada.links.notifyAll({ kind: "warm" });
    await delivered();
    expect(bob.heard).toEqual(["opened a", 'a {"kind":"load"}', 'a {"kind":"warm"}']);
    expect(cleo.heard).toEqual(['a {"kind":"warm"}']);
  });

  test("ignore a notice without a kind", async () => {
    const { ada, bob } = await twoHubs();
    ada.links.notify(bob.hubId, { text: "?" } as never);
    ada.links.notify(bob.hubId, { kind: "known" });
    await delivered();
    expect(bob.heard.slice(1)).toEqual(['a {"kind":"known"}']);
  });

  test("are dialled again after a loss, 0.25 s later at the earliest", async () => {
    const { ada, bob } = await twoHubs();
    ada.dialled[0]!.cut();
    await delivered();
    expect(ada.heard).toEqual(["opened b", "closed b: the link closed with 1006"]);
    expect(ada.links.isOpen(bob.hubId)).toBe(false);
    expect(ada.links.problemOf(bob.hubId)).toBe("the link closed with 1006");
    await expect(ada.links.ask(bob.hubId, "/q", null, 100)).rejects.toMatchObject({
      code: "peer_unavailable",
    });
    vi.advanceTimersByTime(249);
    expect(ada.dialled).toHaveLength(1);
    vi.advanceTimersByTime(1);
    await delivered();
    expect(ada.heard.at(-1)).toBe("opened b");
    expect(ada.links.problemOf(bob.hubId)).toBeUndefined();
  });

  test("wait longer after each dial that failed, and at most 5 s", async () => {
    const ada = hubs.add("a", { random: () => 1 });
    ada.links.hubPresent({ hubId: "b".repeat(16), bootId: "00000001", linkUrl: "ws://b" });
    const waits: number[] = [];
    for (let n = 1; n <= 8; n++) {
      await delivered();
      const before = ada.dialled.length;
      let waitedMs = 0;
      for (; ada.dialled.length === before; waitedMs += 250) vi.advanceTimersByTime(250);
      waits.push(waitedMs);
    }
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000]);
  });

  test("dial a hub that has restarted at once", async () => {
    const { ada, bob } = await twoHubs();
    hubs.remove("b");
    ada.dialled[0]!.cut();
    for (let n = 0; n < 6; n++) {
      await delivered();
      vi.advanceTimersByTime(1_000);
    }
    await delivered();
    const before = ada.dialled.length;
    hubs.add("b");
    ada.links.hubPresent({ ...bob.target, bootId: "0000000b" });
    await delivered();
    expect([ada.dialled.length, ada.heard.at(-1)]).toEqual([before + 1, "opened b"]);
  });

  test("are not dialled any more once the hub is gone", async () => {
    const { ada, bob } = await twoHubs();
    ada.links.hubGone(bob.hubId);
    await delivered();
    vi.advanceTimersByTime(60_000);
    await delivered();
    expect(ada.heard.at(-1)).toBe("closed b: the hub has left the cluster");
    expect(ada.dialled).toHaveLength(1);
  });

  test("do not open between hubs of different clusters, and say why", async () => {
    const ada = hubs.add("a");
    const eve = hubs.add("e", { secret: Buffer.alloc(32, "other") });
    ada.links.hubPresent(eve.target);
    eve.links.hubPresent(ada.target);
    await delivered();
    expect([ada.heard, eve.heard]).toEqual([[], []]);
    const why = "the hubs do not have the same cluster secret";
    expect([ada.links.problemOf(eve.hubId), eve.links.problemOf(ada.hubId)]).toEqual([why, why]);
  });

  test("do not open to another hub than the one that is present there", async () => {
    const [ada] = [hubs.add("a"), hubs.add("b")];
    ada.links.hubPresent({ hubId: "c".repeat(16), bootId: "00000001", linkUrl: "ws://b" });
    await delivered();
    expect(ada.links.problemOf("c".repeat(16))).toContain("another hub is there");
  });

  test("are closed when a dead peer does not respond to pings", async () => {
    const { ada, bob } = await twoHubs();
    ada.dialled[0]!.stall();
    const question = ada.links.ask(bob.hubId, "/q", null, 60_000);
    const outcome = expect(question).rejects.toMatchObject({ code: "peer_unavailable" });
    for (let nowMs = 0; nowMs <= 9_000; nowMs += 1_000) {
      ada.links.tick(nowMs);
      await delivered(4);
    }
    await delivered();
    expect(ada.heard.at(-1)).toContain("closed b: two pings");
    await outcome;
  });

  test("take no new requests after going away, and those that run finish", async () => {
    const { ada, bob } = await twoHubs();
    let finish: (() => void) | undefined;
    bob.handlers.asked = () =>
      new Promise((resolve) => {
        finish = () => resolve({ status: 200, body: "late" });
      });
    const running = ada.links.ask(bob.hubId, "/q", null, 60_000);
    await delivered();
    bob.links.goAway("draining");
    await delivered();
    expect(ada.links.isOpen(bob.hubId)).toBe(false);
    finish?.();
    await delivered();
    expect(await running).toEqual({ status: 200, body: "late" });
  });
});

/** A request that ada forwards to bob, with what its client receives. */
async function running() {
  const { ada, bob } = await twoHubs();
  const replies: ForwardReply[] = [];
  bob.handlers.forwarded = (_request, reply) => {
    replies.push(reply);
    return { onBody: () => true, onBodyEnd() {}, onCancel() {}, onDrain() {} };
  };
  const told: string[] = [];
  const client = { isBehind: false };
  const upstream = ada.links.upstreamTo({ ...aTarget, hubId: bob.hubId });
  const call = upstream.open(
    { ...aRequest, forward: someFacts },
    {
      onHead: ({ status }) => void told.push(`head ${status}`),
      onData: (chunk) => told.push(`${chunk.length}`) > 0 && !client.isBehind,
      onEnd: () => void told.push("end"),
      onFailure: ({ code }) => void told.push(code),
      onClosed: () => void told.push("closed"),
    },
  );
  await delivered();
  const [reply] = replies;
  if (reply === undefined) throw new Error("nothing arrived");
  reply.admit({ requestsUsage: false, shows: "nothing" });
  reply.head({ status: 200, headers: {} });
  return { ada, bob, reply, told, client, call };
}

describe("a hub that leaves in order", () => {
  test("has sent its responses when their last byte is on its way, however slow their clients are", async () => {
    const { bob, reply, told, client, call } = await running();
    let isEmpty = false;
    void bob.links.emptied().then(() => (isEmpty = true));
    client.isBehind = true;
    reply.write(Buffer.alloc(100_000));
    reply.end();
    await delivered();
    expect([isEmpty, told.at(-1)]).toEqual([false, "65536"]);
    client.isBehind = false;
    for (let n = 0; n < 10; n++) {
      call.resume();
      await delivered();
    }
    expect([isEmpty, told.slice(-2)]).toEqual([true, ["end", "closed"]]);
    await bob.links.emptied();
  });

  test("keeps its link until what runs has ended, and is not dialled again", async () => {
    const { ada, bob, reply, told } = await running();
    ada.links.hubLeft(bob.hubId);
    await delivered();
    reply.write(Buffer.from("late"));
    reply.end();
    await delivered();
    expect(told).toEqual(["head 200", "4", "end", "closed"]);
    bob.links.close("the hub has stopped");
    await delivered();
    vi.advanceTimersByTime(10_000);
    await delivered();
    expect([ada.dialled.length, ada.links.isOpen(bob.hubId)]).toEqual([1, false]);
    expect(ada.heard.at(-1)).toMatch(/^closed b/);
  });

  test("is dialled again when it is back while something still runs", async () => {
    const { ada, bob } = await running();
    ada.links.hubLeft(bob.hubId);
    ada.links.hubPresent(bob.target);
    ada.dialled[0]?.terminate();
    await delivered();
    vi.advanceTimersByTime(250);
    await delivered();
    expect([ada.dialled.length, ada.links.isOpen(bob.hubId)]).toEqual([2, true]);
  });

  test("has its link closed at once when nothing runs", async () => {
    const { ada, bob } = await twoHubs();
    ada.links.hubLeft(bob.hubId);
    await delivered();
    expect(ada.links.isOpen(bob.hubId)).toBe(false);
    expect(ada.heard.at(-1)).toMatch(/^closed b/);
  });
});
