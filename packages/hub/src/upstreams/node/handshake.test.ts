import { memoryTransportPair } from "@roomhub/tunnel";
import { assert, integer, property, record, uint8Array } from "fast-check";
import { describe, expect, test } from "vitest";
import { LINK_CLOSE_CODES, type HandshakeOptions, LinkHandshake } from "./handshake.ts";
import { proveLink } from "./link-transport.ts";

const secret = Buffer.alloc(32, "s");
const ada = { hubId: "aaaaaaaaaaaaaaaa", bootId: "00000001", version: "1.2.3" };
const bob = { hubId: "bbbbbbbbbbbbbbbb", bootId: "00000002", version: "1.9.0" };

function dialler(options: Partial<HandshakeOptions> = {}): LinkHandshake {
  return new LinkHandshake({
    ...{ side: "dialler", own: ada, secret, nonce: Buffer.alloc(32, 1) },
    ...{ expectedHubId: bob.hubId, ...options },
  });
}

function acceptor(options: Partial<HandshakeOptions> = {}): LinkHandshake {
  return new LinkHandshake({
    ...{ side: "acceptor", own: bob, secret, nonce: Buffer.alloc(32, 2) },
    ...{ expectedHubId: undefined, ...options },
  });
}

/** Both sides to their end. */
function run(one: LinkHandshake, other: LinkHandshake) {
  const toOther = one.receive(other.greeting);
  const atOther = other.receive(one.greeting);
  if (toOther.kind !== "continue" || atOther.kind !== "continue") return [toOther, atOther];
  const accepted = other.receive(toOther.send!);
  if (accepted.kind !== "proven") return [toOther, accepted];
  return [one.receive(accepted.send!), accepted];
}

function greeting(fields: object): Buffer {
  const nonce = Buffer.alloc(32, 9).toString("base64url");
  return Buffer.from(JSON.stringify({ link: 1, ...bob, nonce, ...fields }));
}

const unproven = { kind: "failed", closeCode: LINK_CLOSE_CODES.unproven };
const wrongHub = { kind: "failed", closeCode: LINK_CLOSE_CODES.wrongHub };
const malformed = { kind: "failed", closeCode: 4002 };

describe("the handshake of a link", () => {
  test("proves both hubs to each other", () => {
    const ends = run(dialler(), acceptor());
    expect(ends).toMatchObject([
      { kind: "proven", peer: bob },
      { kind: "proven", peer: ada },
    ]);
  });

  test("does not send the secret or anything that repeats", () => {
    const one = dialler();
    const step = one.receive(acceptor().greeting);
    const again = dialler({ nonce: Buffer.alloc(32, 3) }).receive(acceptor().greeting);
    const sent = [one.greeting, step.kind === "continue" ? step.send! : Buffer.alloc(0)];
    for (const message of sent) expect(message.includes(secret.subarray(0, 8))).toBe(false);
    expect(again).not.toEqual(step);
  });

  test("fails between hubs with different secrets, at the one that reads the first proof", () => {
    const [, atAcceptor] = run(dialler({ secret: Buffer.alloc(32, "x") }), acceptor());
    expect(atAcceptor).toMatchObject(unproven);
  });

  test("refuses an acceptor that only reflects what it reads", () => {
    const one = dialler({ expectedHubId: undefined });
    expect(one.receive(dialler().greeting)).toMatchObject(wrongHub);
    // The mirror changes the id and the nonce in the greeting: the proof it returns is for the other side.
    const careful = dialler();
    const step = careful.receive(greeting({}));
    expect(careful.receive(step.kind === "continue" ? step.send! : Buffer.alloc(0))).toMatchObject(
      unproven,
    );
  });

  test("refuses a proof that was recorded on another link", () => {
    const recorded = dialler().receive(acceptor().greeting);
    const proof = recorded.kind === "continue" ? recorded.send! : Buffer.alloc(0);
    const next = acceptor({ nonce: Buffer.alloc(32, 5) });
    next.receive(dialler().greeting);
    expect(next.receive(proof)).toMatchObject(unproven);
  });

  test("refuses a proof that was made for another run of either hub", () => {
    for (const own of [{ ...bob, bootId: "00000009" }]) {
      const recorded = dialler().receive(acceptor().greeting);
      const restarted = acceptor({ own });
      restarted.receive(dialler().greeting);
      const proof = recorded.kind === "continue" ? recorded.send! : Buffer.alloc(0);
      expect(restarted.receive(proof)).toMatchObject(unproven);
    }
  });

  test("refuses a hub with the own id, and another hub than the one that was dialled", () => {
    expect(acceptor().receive(acceptor({ nonce: Buffer.alloc(32, 7) }).greeting)).toMatchObject(
      wrongHub,
    );
    expect(
      dialler({ expectedHubId: "cccccccccccccccc" }).receive(acceptor().greeting),
    ).toMatchObject(wrongHub);
  });

  test.each([
    ["another major version", { version: "2.0.0" }, 4003],
    ["another version of links", { link: 2 }, 4003],
    ["no version", { version: 7 }, 4003],
    ["a short nonce", { nonce: "AAAA" }, 4002],
    ["an id that is none", { hubId: "x" }, 4002],
    ["a boot id that is none", { bootId: "|||" }, 4002],
  ])("refuses a greeting with %s", (_title, fields, closeCode) => {
    expect(dialler().receive(greeting(fields))).toMatchObject({ kind: "failed", closeCode });
  });

  test("accepts another minor version, and fields it does not know", () => {
    expect(dialler().receive(greeting({ version: "1.99.1-rc.1", news: true }))).toMatchObject({
      kind: "continue",
    });
  });

  test("never throws and never proves anything for random messages", () => {
    const messages = record({
      first: uint8Array({ maxLength: 80 }),
      cut: integer({ min: 0, max: 31 }),
    });
    assert(
      property(messages, ({ first, cut }) => {
        expect(acceptor().receive(Buffer.from(first))).toMatchObject(malformed);
        const late = acceptor();
        late.receive(dialler().greeting);
        const step = dialler().receive(late.greeting);
        const proof = Buffer.from(step.kind === "continue" ? step.send! : "");
        proof[cut]! ^= 1;
        expect(late.receive(proof)).toMatchObject(unproven);
        const short = acceptor();
        short.receive(dialler().greeting);
        expect(short.receive(proof.subarray(0, cut))).toMatchObject(unproven);
      }),
      { numRuns: 200 },
    );
  });
});

async function delivered(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test("a proven link passes messages on to its session, also those in the same moment as the proof", async () => {
  const [left, right] = memoryTransportPair();
  const heard: string[] = [];
  const fail = (reason: string) => void heard.push(`failed: ${reason}`);
  proveLink(left, dialler(), {
    proven: (_peer, transport) =>
      transport.listen({
        onMessage: (message) => void heard.push(message.toString()),
        onLife() {},
        onClose: (code) => void heard.push(`closed ${code}`),
      }),
    failed: fail,
  });
  proveLink(right, acceptor(), {
    proven(_peer, transport) {
      transport.listen({ onMessage() {}, onLife() {}, onClose() {} });
      transport.send(Buffer.from("hello"));
      transport.close(1000, "done");
    },
    failed: fail,
  });
  await delivered();
  expect(heard).toEqual(["hello", "closed 1000"]);
});

test("a link that is abandoned, or closes before its proof, fails once", async () => {
  const [left, right] = memoryTransportPair();
  const heard: string[] = [];
  const end = (side: string) => ({
    proven: () => void heard.push(`${side} proven`),
    failed: (reason: string, code: number) => void heard.push(`${side} ${code} ${reason}`),
  });
  const link = proveLink(left, dialler(), end("left"));
  link.abandon("no proof in time");
  proveLink(right, acceptor(), end("right"));
  await delivered();
  expect(heard).toEqual(["left 4002 no proof in time", "right 4002 no proof in time"]);
});
