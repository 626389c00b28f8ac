import { describe, expect, test } from "vitest";
import { type Claim, isAcceptance, ProofCheck, proofOf, proofOfAcceptance } from "./proof.ts";

const secret = Buffer.alloc(32, "cluster");
const ada = { hubId: "00000000000000aa", bootId: "000000a1" };
const bob = { hubId: "00000000000000bb", bootId: "000000b1" };
const minuteMs = 60_000;
const startMs = 1_000 * minuteMs;

function aClaim(fields: Partial<Claim> = {}): Claim {
  return {
    kind: "requests",
    from: ada,
    to: bob,
    sentAt: startMs,
    nonce: "0".repeat(32),
    ...fields,
  };
}

function checkAt(nowMs: number, fields: Partial<Claim> = {}, key: Uint8Array = secret) {
  return new ProofCheck(bob, secret, () => nowMs).check(proofOf(aClaim(fields), key));
}

describe("a hub that dials", () => {
  test("is believed with the secret, for what it says it is", () => {
    expect(checkAt(startMs)).toEqual(aClaim());
    expect(checkAt(startMs, { kind: "control" })).toEqual(aClaim({ kind: "control" }));
  });

  test.each<[string, Partial<Claim>, Uint8Array, string]>([
    ["another secret", {}, Buffer.alloc(32, "other"), "unproven"],
    ["another hub's name", { to: { ...bob, hubId: ada.hubId } }, secret, "wrong-hub"],
    ["an earlier run of the hub", { to: { ...bob, bootId: "000000b0" } }, secret, "wrong-hub"],
    ["a time of more than 5 min ago", { sentAt: startMs - 5 * minuteMs - 1 }, secret, "wrong-time"],
    [
      "a time of more than 5 min ahead",
      { sentAt: startMs + 5 * minuteMs + 1 },
      secret,
      "wrong-time",
    ],
  ])("is not believed with %s", (_what, fields, key, problem) => {
    expect(checkAt(startMs, fields, key)).toBe(problem);
  });

  test("may have a clock that differs by 5 min", () => {
    for (const sentAt of [startMs - 5 * minuteMs, startMs + 5 * minuteMs])
      expect(checkAt(startMs, { sentAt })).toMatchObject({ sentAt });
  });

  test("is not believed when any digit of what it says was changed", () => {
    const header = proofOf(aClaim(), secret);
    for (let at = 0; at < header.length; at++) {
      const changed = header[at] === "0" ? "1" : "0";
      const text = header.slice(0, at) + changed + header.slice(at + 1);
      const result = new ProofCheck(bob, secret, () => startMs).check(text);
      expect([at, typeof result]).toEqual([at, "string"]);
    }
    for (const nothing of [undefined, "", "v1", ["a", "b"]])
      expect(new ProofCheck(bob, secret, () => startMs).check(nothing)).toBe("unproven");
  });

  test("is believed once with one handshake, as long as its time would be", () => {
    let nowMs = startMs;
    const check = new ProofCheck(bob, secret, () => nowMs);
    const header = proofOf(aClaim({ sentAt: startMs + 5 * minuteMs }), secret);
    expect(check.check(header)).toMatchObject({ kind: "requests" });
    for (const at of [0, 5 * minuteMs, 10 * minuteMs - 1]) {
      nowMs = startMs + at;
      expect(check.check(header)).toBe("repeated");
    }
    nowMs = startMs + 10 * minuteMs + 1;
    expect(check.check(header)).toBe("wrong-time");
    expect(check.check(proofOf(aClaim({ sentAt: nowMs, nonce: "1".repeat(32) }), secret))).toEqual(
      expect.objectContaining({ nonce: "1".repeat(32) }),
    );
  });
});

test("a hub that accepts proves that it knows the secret, by that handshake alone", () => {
  const claim = aClaim();
  const header = proofOfAcceptance(claim, secret);
  expect(isAcceptance(claim, secret, header)).toBe(true);
  expect(isAcceptance(claim, Buffer.alloc(32, "other"), header)).toBe(false);
  expect(isAcceptance(aClaim({ nonce: "1".repeat(32) }), secret, header)).toBe(false);
  // What it was sent is no proof.
  expect(isAcceptance(claim, secret, proofOf(claim, secret).split(" ").at(-1))).toBe(false);
  expect(isAcceptance(claim, secret, undefined)).toBe(false);
});
