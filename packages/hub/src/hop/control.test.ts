import { systemWorld } from "@roomhub/protocol";
import { type Duplex, duplexPair } from "node:stream";
import { describe, expect, test } from "vitest";
import { ControlSockets } from "./control.ts";
import type { HopNote } from "./outbox.ts";
import type { HopTarget } from "./dial.ts";
import { ada, bob } from "./hop.fixture.ts";

/** What lies between two hubs: `refuse` and `lose` are what a dial gets; `cutAfter` so many bytes of ada's. */
interface Network {
  state: "open" | "refuse" | "lose";
  cutAfter: number;
  /** pairs of the ends of each connection */
  connections: [Duplex, Duplex][];
  dials: string[];
}

/** Two ends of a connection that may break after any byte. */
function connection(network: Network): [Duplex, Duplex] {
  const [one, nearOne] = duplexPair();
  const [other, nearOther] = duplexPair();
  const cut = () => [one, nearOne, other, nearOther].forEach((end) => end.destroy());
  nearOne.on("data", (chunk: Buffer) => {
    nearOther.write(chunk.subarray(0, network.cutAfter));
    network.cutAfter -= chunk.length;
    if (network.cutAfter < 0) setImmediate(cut);
  });
  nearOther.on("data", (chunk: Buffer) => nearOne.write(chunk));
  nearOne.on("end", () => nearOther.end()).on("close", cut);
  nearOther.on("end", () => nearOne.end()).on("close", cut);
  return [one, other];
}

function twoHubs() {
  const network: Network = { state: "open", cutAfter: Infinity, connections: [], dials: [] };
  let nowMs = 1_000;
  const make = (self: typeof ada, other: () => ControlSockets) => {
    const said: string[] = [];
    const notes: HopNote[] = [];
    const control = new ControlSockets({
      ...{ self, world: { ...systemWorld, monotonicMs: () => nowMs } },
      dialler: {
        async dial(target: HopTarget) {
          network.dials.push(`${self.hubId.slice(-2)} to ${target.hubId.slice(-2)}`);
          await settled();
          if (network.state !== "open") throw new Error(network.state);
          const [near, far] = connection(network);
          network.connections.push(self === ada ? [near, far] : [far, near]);
          other().accept(far, self);
          return near as never;
        },
      },
      onOpen: () => said.push("open"),
      onReset: () => said.push("reset"),
      onNote: (note) => notes.push(note),
    });
    return { control, said, notes };
  };
  const one = make(ada, () => two.control);
  const two: ReturnType<typeof make> = make(bob, () => one.control);
  const present = () => {
    one.control.hubPresent({ ...bob, linkUrl: "http://b" });
    two.control.hubPresent({ ...ada, linkUrl: "http://a" });
  };
  return {
    ...{ one, two, network, present },
    cut: () => network.connections.flat().forEach((end) => end.destroy()),
    passes: async (ms: number) => {
      for (const end = nowMs + ms; nowMs < end;) {
        nowMs += 250;
        one.control.tick();
        two.control.tick();
        await settled();
      }
    },
  };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const deliveredIn = (notes: readonly HopNote[]) => notes.map(([, requestId]) => requestId);

describe("the connection of two hubs", () => {
  test("is dialled by the hub with the lower id", async () => {
    const { one, two, network, present } = twoHubs();
    present();
    await settled();
    expect([network.dials, one.said, two.said]).toEqual([["aa to bb"], ["open"], ["open"]]);
    expect([one.control.isOpen(bob.hubId), two.control.isOpen(ada.hubId)]).toEqual([true, true]);
  });

  test("counts as open for a hub whose presence is reported later", async () => {
    const { one, two } = twoHubs();
    one.control.hubPresent({ ...bob, linkUrl: "http://b" });
    await settled();
    expect([two.said, two.control.isOpen(ada.hubId)]).toEqual([[], false]);
    two.control.hubPresent({ ...ada, linkUrl: "http://a" });
    expect([two.said, two.control.isOpen(ada.hubId)]).toEqual([["open"], true]);
  });

  test("is dialled by both after it broke, and both keep the same one", async () => {
    const { one, two, network, present, cut, passes } = twoHubs();
    present();
    await settled();
    cut();
    await passes(1_000);
    expect(network.dials).toEqual(["aa to bb", "aa to bb", "bb to aa"]);
    expect([one.said, two.said]).toEqual([
      ["open", "reset", "open"],
      ["open", "reset", "open"],
    ]);
    const living = network.connections.filter(([near, far]) => !near.destroyed && !far.destroyed);
    expect(living).toHaveLength(1);
    one.control.say(bob.hubId, "delivered", "req_1");
    two.control.say(ada.hubId, "delivered", "req_2");
    await settled();
    expect([deliveredIn(one.notes), deliveredIn(two.notes)]).toEqual([["req_2"], ["req_1"]]);
  });

  test("that is refused is dialled again, and the refusal is its problem", async () => {
    const { one, network, present, passes } = twoHubs();
    network.state = "refuse";
    present();
    await passes(1_500);
    expect(network.dials).toHaveLength(3);
    expect(one.control.problemOf(bob.hubId)).toBe("refuse");
    network.state = "lose";
    await passes(500);
    network.state = "open";
    await passes(500);
    expect([one.said.at(-1), one.control.problemOf(bob.hubId)]).toEqual(["open", undefined]);
  });

  test("is closed after 10 s on which nothing came, and is not open before that is noticed", async () => {
    const { one, two, present, passes } = twoHubs();
    present();
    await settled();
    await passes(30_000);
    expect(one.said).toEqual(["open"]);
    two.control.tick = () => {};
    await passes(10_000);
    expect([one.said, one.control.isOpen(bob.hubId)]).toEqual([["open"], true]);
    await passes(3_250);
    expect(one.said.slice(0, 2)).toEqual(["open", "reset"]);
  });

  test("is reset at once where the other end was closed, also where this end could still write", async () => {
    const { one, two, network, present } = twoHubs();
    present();
    await settled();
    network.connections[0]?.[0].end();
    await settled();
    expect([one.said[1], two.said[1], two.control.isOpen(ada.hubId)]).toEqual([
      ...["reset", "reset", false],
    ]);
  });

  test("is not dialled again to a hub that is gone, or that left", async () => {
    for (const end of ["hubGone", "hubLeft"] as const) {
      const { one, network, present, cut, passes } = twoHubs();
      present();
      await settled();
      if (end === "hubLeft") one.control.hubLeft(bob.hubId);
      else one.control.hubGone(bob);
      cut();
      await passes(5_000);
      expect(network.dials.filter((dial) => dial === "aa to bb")).toHaveLength(1);
      expect([one.said, one.control.isOpen(bob.hubId)]).toEqual([["open"], false]);
    }
  });
});

test("the end of an earlier run of a hub does not concern its connection", async () => {
  const { one, present } = twoHubs();
  present();
  await settled();
  one.control.hubGone({ ...bob, bootId: "000000b0" });
  await settled();
  expect([one.said, one.control.isOpen(bob.hubId)]).toEqual([["open"], true]);
});

describe("notes", () => {
  test("of one turn are one message, in their order", async () => {
    const { one, two, network, present } = twoHubs();
    present();
    await settled();
    let bytes = "";
    network.connections[0]?.[1].on("data", (chunk: Buffer) => (bytes += chunk.toString()));
    one.control.say(bob.hubId, "delivered", "req_1");
    one.control.say(bob.hubId, "gone", "req_2");
    one.control.say(bob.hubId, "epoch", "AB23CD", 7);
    one.control.say(bob.hubId, "delivered", "req_3");
    one.control.say(bob.hubId, "event", { name: "llm.complete" });
    one.control.say(bob.hubId, "delivered", "req_4");
    await settled();
    expect(two.notes).toEqual([
      ["delivered", "req_1"],
      ["gone", "req_2"],
      ["epoch", "AB23CD", 7],
      ["delivered", "req_3"],
      ["event", { name: "llm.complete" }],
      ["delivered", "req_4"],
    ]);
    expect(bytes.match(/\n/g)).toHaveLength(1);
  });

  test("from before there is a connection are said with it", async () => {
    const { one, two, network, present, passes } = twoHubs();
    network.state = "lose";
    present();
    one.control.say(bob.hubId, "delivered", "req_1");
    await settled();
    network.state = "open";
    await passes(1_000);
    expect(two.notes).toEqual([["delivered", "req_1"]]);
  });

  test("arrive once and in order, after whichever byte their connection breaks", async () => {
    for (let cutAfter = 0; cutAfter < 400; cutAfter += 1) {
      const { one, two, network, present, passes } = twoHubs();
      present();
      await settled();
      network.cutAfter = cutAfter;
      const sent: string[] = [];
      for (let n = 0; n < 6; n++) {
        one.control.say(bob.hubId, "delivered", `req_${n}`);
        two.control.say(ada.hubId, "delivered", `req_${n}`);
        sent.push(`req_${n}`);
        await new Promise((resolve) => setImmediate(resolve));
      }
      network.cutAfter = Infinity;
      await passes(1_000);
      expect([cutAfter, deliveredIn(two.notes), deliveredIn(one.notes)]).toEqual([
        ...[cutAfter, sent, sent],
      ]);
    }
  });

  test("arrive when a hub that was thought dead is there again", async () => {
    const { one, two, network, present, cut, passes } = twoHubs();
    present();
    await settled();
    network.cutAfter = 0;
    one.control.say(bob.hubId, "delivered", "req_1");
    await settled();
    one.control.hubGone(bob);
    network.state = "lose";
    cut();
    network.cutAfter = Infinity;
    await passes(20_000);
    expect(two.notes).toEqual([]);
    network.state = "open";
    present();
    await passes(1_000);
    expect(two.notes).toEqual([["delivered", "req_1"]]);
  });

  test("of a hub that left in order arrive, and those of its last turn before it closes", async () => {
    const { one, two, present } = twoHubs();
    present();
    await settled();
    two.control.hubLeft(ada.hubId);
    one.control.say(bob.hubId, "delivered", "req_1");
    one.control.close();
    await settled();
    expect(two.notes).toEqual([["delivered", "req_1"]]);
    expect(two.said).toEqual(["open"]);
  });

  test("are said to the run of a hub that they are meant for", async () => {
    const { one, two, network, present, passes } = twoHubs();
    network.state = "lose";
    present();
    one.control.say(bob.hubId, "delivered", "req_1");
    await settled();
    one.control.hubPresent({ ...bob, bootId: "000000b2", linkUrl: "http://b" });
    network.state = "open";
    await passes(1_000);
    expect(two.notes).toEqual([]);
  });

  test.each([
    ["no JSON", "nonsense\n"],
    ["no message", '{"delivered":["req_1"]}\n'],
    ["a line without an end", "x".repeat(9 * 1024 * 1024)],
  ])("that are %s close the connection", async (_what, bytes) => {
    const { one, network, present } = twoHubs();
    present();
    await settled();
    network.connections[0]?.[1].write(bytes);
    await settled();
    await settled();
    expect(one.said).toContain("reset");
    expect(one.notes).toEqual([]);
  });
});
