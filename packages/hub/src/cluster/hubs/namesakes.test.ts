import { describe, expect, test } from "vitest";
import { aPresence } from "../directory-compliance.fixture.ts";
import type { HubPresence } from "./hub-presence.ts";
import { Namesakes } from "./namesakes.ts";

const own = { hubId: "0000000000000000", bootId: "00000000" };
const ada = "00000000000000aa";

function aLife(hubId: string, life: number): HubPresence {
  return { ...aPresence(hubId), bootId: String(life).padStart(8, "0"), startedAt: life };
}

/** The beats of lives, 1.5 s after each other. */
function hear(namesakes: Namesakes, hubId: string, lives: readonly number[], fromMs = 0): number {
  for (const [n, life] of lives.entries()) namesakes.heard(aLife(hubId, life), fromMs + n * 1_500);
  return fromMs + (lives.length - 1) * 1_500;
}

function newsAt(namesakes: Namesakes, nowMs: number): string[] {
  return namesakes
    .takeNews(nowMs)
    .map(({ kind, presence, isOwn }) => `${kind} ${isOwn ? "own" : presence.hubId.slice(-2)}`);
}

describe("two hubs share an id", () => {
  test("when they take turns, for a third one", () => {
    const namesakes = new Namesakes(own);
    const nowMs = hear(namesakes, ada, [1, 2, 1]);
    expect(newsAt(namesakes, nowMs)).toEqual(["sharing aa"]);
    expect(namesakes.isShared(ada)).toBe(true);
  });

  test("when another process beats twice under the id of this one", () => {
    const namesakes = new Namesakes(own);
    hear(namesakes, own.hubId, [5]);
    expect(newsAt(namesakes, 0)).toEqual([]);
    expect(newsAt(namesakes, hear(namesakes, own.hubId, [5], 3_000))).toEqual(["sharing own"]);
  });

  test("which is said once every 10 min, and that it is over, once", () => {
    const namesakes = new Namesakes(own);
    const said: [number, string][] = [];
    const lastMs = 1_200_000;
    for (let nowMs = 0; nowMs < lastMs; nowMs += 1_500) {
      hear(namesakes, ada, [(nowMs / 1_500) % 2], nowMs);
      for (const news of newsAt(namesakes, nowMs)) said.push([nowMs, news]);
    }
    for (const nowMs of [lastMs, lastMs + 9_000, lastMs + 20_000])
      for (const news of newsAt(namesakes, nowMs)) said.push([nowMs, news]);
    expect(said).toEqual([
      [3_000, "sharing aa"],
      [603_000, "sharing aa"],
      [1_209_000, "over aa"],
    ]);
    expect(namesakes.isShared(ada)).toBe(false);
  });

  test("and neither of them is dead while it is heard of", () => {
    const namesakes = new Namesakes(own);
    const nowMs = hear(namesakes, ada, [1, 2, 1]);
    expect(namesakes.isAlive(aLife(ada, 1), nowMs)).toBe(true);
    expect(namesakes.isAlive(aLife(ada, 2), nowMs)).toBe(true);
    expect(namesakes.isAlive(aLife(ada, 3), nowMs)).toBe(false);
    hear(namesakes, ada, [1, 1, 1, 1, 1, 1, 1, 1], nowMs);
    expect(namesakes.isAlive(aLife(ada, 2), nowMs + 12_000)).toBe(false);
  });
});

describe("no conflict is reported", () => {
  test("when a hub restarts, however quickly and often", () => {
    const namesakes = new Namesakes(own);
    const nowMs = hear(namesakes, ada, [1, 1, 2, 3, 3, 3]);
    expect(newsAt(namesakes, nowMs)).toEqual([]);
    expect(namesakes.isAlive(aLife(ada, 1), nowMs)).toBe(false);
  });

  test("when a hub still stops while its successor runs", () => {
    const namesakes = new Namesakes(own);
    hear(namesakes, ada, [1, 2]);
    namesakes.heard({ ...aLife(ada, 1), isDraining: true }, 3_000);
    expect(newsAt(namesakes, hear(namesakes, ada, [2], 4_500))).toEqual([]);
  });

  test("when one is heard of again after 10 s of silence", () => {
    const namesakes = new Namesakes(own);
    const nowMs = hear(namesakes, ada, [1, 2, 2, 2, 2, 2, 2, 2, 2, 1]);
    expect(newsAt(namesakes, nowMs)).toEqual([]);
  });
});
