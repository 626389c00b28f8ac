import { describe, expect, test } from "vitest";
import type { Guess, PasswordResult } from "./slow-checks.ts";
import { type GateLimits, PasswordGate } from "./password-gate.ts";
import type { RoomPassword } from "./passwords.ts";

const usual: GateLimits = { burst: 5, intervalMs: 2_000, perRoomAndMinute: 60 };
const right = { kind: "right" };
const wrong = { kind: "wrong" };

/** A room whose password is `swordfish`. One from disk knows it from the first right check on, and notes each slow one. */
function aRoom(from: "memory" | "disk"): RoomPassword & {
  slowChecks: string[];
  /** Lets the check that runs come to its end. */
  finish: () => Promise<void>;
} {
  let isKnown = from === "memory";
  const slowChecks: string[] = [];
  const running: (() => void)[] = [];
  return {
    stored: "scrypt$",
    quickly: (password) => (isKnown ? password === "swordfish" : undefined),
    slowly(password) {
      slowChecks.push(password);
      return new Promise((resolve) => {
        running.push(() => {
          if (password === "swordfish") isKnown = true;
          resolve(password === "swordfish");
        });
      });
    },
    slowChecks,
    async finish() {
      running.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

function atTheGate(limits: Partial<GateLimits> = {}) {
  let nowMs = 1_000_000;
  const gate = new PasswordGate({ ...usual, ...limits }, () => nowMs);
  return {
    pass: (ms: number) => void (nowMs += ms),
    guess: (
      room: RoomPassword,
      password: string | undefined,
      caller = "ada",
      fields: Partial<Guess> = {},
    ): Promise<PasswordResult> =>
      gate.check({
        ...{ roomCode: "ABC234", roomPassword: room, caller, password, hasLeft: () => false },
        ...fields,
      }),
  };
}

describe("one caller", () => {
  test("may be wrong five times, then once each two seconds, and right ones are not counted", async () => {
    const { guess, pass } = atTheGate();
    const room = aRoom("memory");
    for (let count = 0; count < 20; count++) expect(await guess(room, "swordfish")).toEqual(right);
    for (let count = 0; count < 5; count++) expect(await guess(room, "tuna")).toEqual(wrong);
    const throttled = { kind: "throttled", by: "caller", retryAfterMs: 2_000 };
    expect(await guess(room, "tuna")).toEqual(throttled);
    expect(await guess(room, "swordfish")).toEqual(throttled);
    pass(2_000);
    expect(await guess(room, "swordfish")).toEqual(right);
  });

  test("has the same result for a missing password as for a wrong one", async () => {
    const { guess } = atTheGate({ burst: 1 });
    const room = aRoom("disk");
    expect(await guess(room, undefined)).toEqual(wrong);
    expect(await guess(room, undefined)).toMatchObject({ kind: "throttled", by: "caller" });
    expect(room.slowChecks).toEqual([]);
  });

  test("that guesses a thousand times at once is checked as if it did so in a row", async () => {
    const { guess } = atTheGate();
    const room = aRoom("memory");
    const results = await Promise.all(Array.from({ length: 1_000 }, () => guess(room, "tuna")));
    expect(results.filter(({ kind }) => kind === "wrong")).toHaveLength(5);
  });

  test("that guesses at once at a room from disk is refused the rest when five were wrong", async () => {
    const { guess } = atTheGate();
    const room = aRoom("disk");
    const all = Promise.all(Array.from({ length: 30 }, () => guess(room, "tuna")));
    for (let count = 0; count < 5; count++) await room.finish();
    expect((await all).filter(({ kind }) => kind === "wrong")).toHaveLength(5);
    expect(room.slowChecks).toHaveLength(5);
  });
});

describe("a room", () => {
  /** Distinct callers, one wrong guess each. */
  async function spend(guess: ReturnType<typeof atTheGate>["guess"], room: RoomPassword, by = 60) {
    for (let index = 0; index < by; index++) await guess(room, "tuna", `mallory ${index}`);
  }

  test("takes sixty wrong ones in any minute, from all callers together", async () => {
    const { guess, pass } = atTheGate();
    const room = aRoom("memory");
    await spend(guess, room, 30);
    pass(20_000);
    await spend(guess, room, 29);
    expect(await guess(room, "tuna", "the 60th")).toEqual(wrong);
    const throttled = { kind: "throttled", by: "room", retryAfterMs: 40_000 };
    expect(await guess(room, "tuna", "the 61st")).toEqual(throttled);
    expect(await guess(room, "swordfish", "a newcomer")).toEqual(throttled);
    expect(await guess(aRoom("memory"), "swordfish", "a newcomer")).toEqual(right);
    pass(40_000);
    expect(await guess(room, "swordfish", "a newcomer")).toEqual(right);
    for (let index = 0; index < 30; index++) {
      expect(await guess(room, "tuna", `eve ${index}`)).toEqual(wrong);
    }
    expect(await guess(room, "tuna", "eve")).toMatchObject({ by: "room", retryAfterMs: 20_000 });
  });

  test("whose total is spent still checks callers that gave its password within 24 h, within their allowance", async () => {
    const { guess, pass } = atTheGate();
    const room = aRoom("memory");
    expect(await guess(room, "swordfish", "grace")).toEqual(right);
    pass(24 * 3_600_000);
    await spend(guess, room);
    for (let count = 0; count < 4; count++)
      expect(await guess(room, "tuna", "grace")).toEqual(wrong);
    expect(await guess(room, "swordfish", "grace")).toEqual(right);
    expect(await guess(room, "tuna", "grace")).toEqual(wrong);
    expect(await guess(room, "swordfish", "grace")).toMatchObject({ by: "caller" });
  });

  test("forgets after 24 h which callers gave its password, and knows none of another room", async () => {
    const { guess, pass } = atTheGate();
    const [room, other] = [aRoom("memory"), aRoom("memory")];
    await guess(room, "swordfish", "grace");
    await guess(other, "swordfish", "alan");
    pass(24 * 3_600_000 + 1);
    await spend(guess, room);
    expect(await guess(room, "swordfish", "grace")).toMatchObject({ by: "room" });
    expect(await guess(room, "swordfish", "alan")).toMatchObject({ by: "room" });
  });

  test("counts no missing password, which says nothing of the right one", async () => {
    const { guess } = atTheGate();
    const room = aRoom("memory");
    for (let index = 0; index < 100; index++) await guess(room, undefined, `bob ${index}`);
    expect(await guess(room, "swordfish", "a newcomer")).toEqual(right);
  });

  test("of a total of none checks no guess", async () => {
    const { guess } = atTheGate({ perRoomAndMinute: 0 });
    expect(await guess(aRoom("memory"), "swordfish")).toMatchObject({
      kind: "throttled",
      by: "room",
    });
  });
});

describe("guesses that only scrypt can judge", () => {
  test("run one at a time, the caller with the fewest wrong ones first, the newest among equals", async () => {
    const { guess } = atTheGate();
    const room = aRoom("disk");
    const ended: string[] = [];
    const send = (password: string, caller: string) =>
      void guess(room, password, caller).then(() => ended.push(password));
    send("a1", "ann");
    send("a2", "ann");
    send("b1", "ben");
    send("c1", "cem");
    expect(room.slowChecks).toEqual(["a1"]);
    await room.finish();
    // Ann was wrong once; cem is newer than ben.
    expect(room.slowChecks).toEqual(["a1", "c1"]);
    send("d1", "dov");
    await room.finish();
    await room.finish();
    expect(room.slowChecks).toEqual(["a1", "c1", "d1", "b1"]);
    await room.finish();
    expect(room.slowChecks).toEqual(["a1", "c1", "d1", "b1", "a2"]);
    await room.finish();
    expect(ended).toEqual(["a1", "c1", "d1", "b1", "a2"]);
  });

  test("wait for one check, not for all guesses: a right password among 600 guesses of 120 addresses", async () => {
    const { guess } = atTheGate();
    const room = aRoom("disk");
    const guesses = Array.from({ length: 600 }, (_, index) =>
      guess(room, `tuna ${index}`, `mallory ${index % 120}`),
    );
    await room.finish();
    const newcomer = guess(room, "swordfish", "grace");
    await room.finish();
    await room.finish();
    await expect(newcomer).resolves.toEqual(right);
    expect(room.slowChecks).toHaveLength(3);
    // From then on no scrypt is needed, and the total still holds.
    const results = await Promise.all(guesses);
    expect(results.filter(({ kind }) => kind === "wrong")).toHaveLength(60);
    expect(results.filter(({ kind }) => kind === "throttled")).toHaveLength(540);
  });

  test("count at all rooms for the turn of their caller", async () => {
    const { guess } = atTheGate();
    const [room, other] = [aRoom("disk"), aRoom("disk")];
    void guess(room, "tuna", "mallory");
    await room.finish();
    void guess(room, "first", "ann");
    void guess(room, "grace", "grace");
    void guess(other, "tuna", "mallory", { roomCode: "XYZ987" });
    await room.finish();
    expect([room.slowChecks, other.slowChecks]).toEqual([["tuna", "first", "grace"], []]);
  });

  test("are not run for clients that left", async () => {
    const { guess } = atTheGate();
    const room = aRoom("disk");
    void guess(room, "first", "ann");
    let hasLeft = false;
    const leaving = guess(room, "second", "ben", { hasLeft: () => hasLeft });
    hasLeft = true;
    await room.finish();
    await expect(leaving).resolves.toEqual({ kind: "left" });
    expect(room.slowChecks).toEqual(["first"]);
  });

  test("are refused at once when the room's total is spent, without being run", async () => {
    const { guess } = atTheGate({ perRoomAndMinute: 2 });
    const room = aRoom("disk");
    const waiting = ["ann", "ben", "cem", "dov"].map((caller) => guess(room, "tuna", caller));
    await room.finish();
    await room.finish();
    expect((await Promise.all(waiting)).map(({ kind }) => kind)).toEqual([
      ...["wrong", "throttled", "throttled", "wrong"],
    ]);
    expect(room.slowChecks).toHaveLength(2);
  });

  test("of a thousand who return at once are one check", async () => {
    const { guess } = atTheGate();
    const room = aRoom("disk");
    const all = Promise.all(Array.from({ length: 1_000 }, () => guess(room, "swordfish", "nat")));
    await room.finish();
    expect((await all).every(({ kind }) => kind === "right")).toBe(true);
    expect(room.slowChecks).toHaveLength(1);
  });

  test("that fail, fail for their caller alone", async () => {
    const { guess } = atTheGate();
    const broken = aRoom("disk");
    broken.slowly = () => Promise.reject(new Error("out of memory"));
    const room = aRoom("disk");
    const failing = guess(broken, "swordfish");
    const next = guess(room, "swordfish", "ben");
    await expect(failing).rejects.toThrow("out of memory");
    await room.finish();
    await expect(next).resolves.toEqual(right);
  });

  test("are bounded in number: the one that would go last is refused", async () => {
    const { guess } = atTheGate({ maxWaiting: 2 });
    const room = aRoom("disk");
    void guess(room, "running", "ann");
    const old = guess(room, "old", "ben");
    const newer = guess(room, "newer", "cem");
    const newest = guess(room, "newest", "dov");
    await expect(old).resolves.toEqual({ kind: "throttled", by: "hub", retryAfterMs: 1_000 });
    for (let count = 0; count < 3; count++) await room.finish();
    expect(await Promise.all([newer, newest])).toEqual([wrong, wrong]);
  });
});
