import { assert, asyncProperty, constantFrom } from "fast-check";
import { expect, test } from "vitest";
import type { EventRecorder } from "../support/hub/event-recorder.ts";
import { ledgerOf, ledgerProblems } from "../support/hub/ledger.ts";
import { propertyRuns, propertyTimeoutMs, SEEDS } from "../support/property-runs.ts";
import { until } from "../support/waiting.ts";
import type { Asked } from "./requested.ts";
import { countedAttempts, stepAfter } from "./attempts-model.ts";
import { foldEvents } from "./event-fold.ts";
import {
  type Action,
  actions,
  movesElsewhere,
  movesTwice,
  triesAgain,
  waitsForLoading,
} from "./hub-actions.ts";
import { type Answered, secret, World } from "./hub-world.ts";
import { predict, type Prediction, type RoomModel, statusOf, takesTrial } from "./room-model.ts";

/** The differences between hub and model. Read again until there are none. */
async function differences(world: World): Promise<string[]> {
  noteHolders(world);
  const problems: string[] = [];
  for (const room of world.rooms) {
    const { colon, dot } = world.recorders[room.index] ?? expect.unreachable("no recorder");
    const mine = world.asked.filter((one) => one.room === room.index);
    const isWaiting = mine.some((one) => one.end === undefined && !isHeld(world, one));
    const { all, areSame } = await world.listings(room);
    if (!areSame) problems.push("the two families differ");
    const listed = all.map((one) => {
      const { active, queued } = one.load;
      if (active < 0 || queued < 0 || (queued > 0 && !isWaiting)) {
        problems.push(`${one.id} has ${active} active and ${queued} queued`);
      }
      return [
        one.id,
        one.status,
        one.connection.connected,
        one.nickname,
        one.model,
        one.load.limit,
        one.load.active,
      ].join(" ");
    });
    const people = [...room.people.values()];
    const expected = people.map((one) =>
      [
        one.id,
        statusOf(one, world.nowMs),
        one.tunnel !== "closed",
        one.nickname,
        one.model,
        one.limit,
        one.active,
      ].join(" "),
    );
    if (listed.join() !== expected.join()) {
      problems.push(`listed [${listed.join()}] not [${expected.join()}]`);
    }
    problems.push(...eventProblems(room, dot));
    if (colon.events.length !== dot.events.length) problems.push("the two spellings differ");
    const ends = ledgerOf(dot).filter((entry) => entry.ends.length > 0).length;
    const ended = mine.filter(({ end }) => end !== undefined).length;
    if (ends !== ended) problems.push(`${ends} ends told, ${ended} seen by clients`);
  }
  for (const one of world.asked) {
    if (one.end !== undefined || isHeld(world, one)) continue;
    const kinds = [world.predictFor(one).kind, world.predictFor(one, -1).kind];
    if (!kinds.includes("waits")) {
      problems.push(`${one.tag} for ${one.selector} waits, but ${kinds.join(", or ")}`);
    }
  }
  return problems;
}

function eventProblems(room: RoomModel, dot: EventRecorder): string[] {
  const believed = [...foldEvents(dot.events)]
    // That a trial is due is shown in listings and causes no event.
    .map(([id, { status, connected, nickname }]) =>
      [id, status === "unavailable" ? "online" : status, connected, nickname].join(" "),
    )
    .sort()
    .join();
  const expected = [...room.people.values()]
    .map((one) =>
      [one.id, one.isOnline ? "online" : "offline", one.tunnel !== "closed", one.nickname].join(
        " ",
      ),
    )
    .sort()
    .join();
  return believed === expected ? [] : [`told [${believed}] not [${expected}]`];
}

/** Who works on what now, by the agents' own books. */
function noteHolders(world: World): void {
  for (const room of world.rooms) {
    for (const person of room.people.values()) {
      const held = world.heldBy(room, person.id);
      person.active = held.length;
      for (const { tag } of held) {
        const one = world.asked.find((asked) => asked.tag === tag) ?? expect.unreachable(tag);
        expect(one.room).toBe(room.index);
        if (one.holder === person) continue;
        one.holder = person;
        one.holders.push(person);
        one.credentials = person.credentials;
        takesTrial(person, world.nowMs);
      }
    }
  }
  for (const one of world.asked) if (!isHeld(world, one)) one.holder = undefined;
}

function isHeld(world: World, { tag }: Asked): boolean {
  return world.holdings().some(({ request }) => request.tag === tag);
}

async function step(world: World, now: Action): Promise<void> {
  const before = world.asked.filter(({ end }) => end === undefined);
  const agentsBefore = new Map(world.agents);
  const holdersBefore = new Map(before.map((one) => [one, one.holder]));
  const { nowMs } = world;
  const prediction: Prediction | undefined =
    now.kind === "ask"
      ? predict(world.room(now.room), { selector: now.selector, nowMs, excluded: [] })
      : undefined;
  const answered = await world.perform(now);
  const next = answered === undefined ? undefined : noteAnswer(world, answered);
  await until(
    `the hub to be as expected after ${JSON.stringify(now)}`,
    () => differences(world),
    (problems) => problems.length === 0,
    6_000,
  );

  if (prediction !== undefined) expectAsPredicted(world, prediction);
  for (const one of before) {
    expect(countedAttempts(one)).toBeLessThanOrEqual(3);
    expect(one.holders.length - new Set(one.holders).size).toBeLessThanOrEqual(
      one.waitedFor.length,
    );
    const holder = holdersBefore.get(one);
    const key = `${one.room} ${holder?.id}`;
    const hasLostTunnel = holder !== undefined && agentsBefore.get(key) !== world.agents.get(key);
    const wasAnswered = answered?.tag === one.tag;
    if (one.holder !== holder && holder !== undefined && one.end === undefined) {
      // Retried elsewhere: never after a response had begun, and not from the participant that the client named, except to wait for it.
      expect(wasAnswered ? next : hasLostTunnel && "elsewhere").toMatch(/elsewhere|again/);
      if (next !== "again") expect(one.selector).not.toBe(holder.id);
    }
    if (one.end === undefined) {
      expect(wasAnswered && next === "fail").toBe(false);
      continue;
    }
    // While another can serve it, or is waited for, a failure is not its end.
    if (wasAnswered && next !== "fail") expect(world.predictFor(one).kind).toBe("refused");
    const { kind, text } = one.end;
    if (kind === "aborted") expect(now.kind).toBe("abort");
    else if (wasAnswered)
      expect([answered.how, kind]).toEqual([
        answered.how,
        answered.how === "whole" ? "complete" : "failed",
      ]);
    else if (holder !== undefined) expect([kind, hasLostTunnel]).toEqual(["failed", true]);
    else expect([kind, world.predictFor(one).kind]).toEqual(["failed", "refused"]);
    if (kind === "complete") expect(text).toContain(`for ${one.tag}.`);
    for (const other of world.asked) {
      if (other !== one) expect(text).not.toContain(`for ${other.tag}.`);
    }
  }
}

/** Responses whose head is a success, however they continue. */
const begun = new Set<unknown>(["whole", "cut", "head then reset"]);

function noteAnswer(world: World, { tag, how }: Answered): ReturnType<typeof stepAfter> {
  const one = world.asked.find((asked) => asked.tag === tag) ?? expect.unreachable(tag);
  const holder = one.holder ?? expect.unreachable(`nobody held ${tag}`);
  if (begun.has(how) && one.credentials !== undefined) one.credentials.haveWorked = true;
  // Its holder is among those that do not get it again.
  const isAnotherFree = world.predictFor(one).kind === "goes to";
  const next = stepAfter(one, holder, how, isAnotherFree);
  if (next === "again") one.waitedFor.push(holder);
  else if (how === 503) holder.overloadedUntilMs = world.nowMs + 1_000;
  if (begun.has(how)) holder.overloadedUntilMs = undefined;
  one.holder = undefined;
  return next;
}

function expectAsPredicted(world: World, prediction: Prediction): void {
  const one = world.asked.at(-1) ?? expect.unreachable("nothing was asked");
  const came = { end: one.end?.status, holder: one.holders[0] };
  switch (prediction.kind) {
    case "refused":
      return expect(came).toEqual({ end: prediction.status, holder: undefined });
    case "waits":
      return expect(came).toEqual({ end: undefined, holder: undefined });
    case "goes to":
      expect(came.end).toBeUndefined();
      expect(prediction.one.map(({ id }) => id)).toContain(came.holder?.id);
  }
}

async function expectCleanBooks(world: World): Promise<void> {
  await until(
    "every client's end",
    () => world.asked.filter(({ end }) => end === undefined),
    (open) => open.length === 0,
  );
  for (const { colon, dot } of world.recorders) {
    expect(ledgerProblems(dot)).toEqual([]);
    const told = (recorder: EventRecorder) =>
      recorder.events.map(({ kind, data: { type: _type, ...data } }) => ({ kind, data }));
    expect(told(colon)).toEqual(told(dot));
  }
  for (const { end, room, tag } of world.asked) {
    if (end?.requestId === undefined) continue;
    const dot = world.recorders[room]?.dot ?? expect.unreachable("no recorder");
    const entry = ledgerOf(dot).find(({ requestId }) => requestId === end.requestId);
    const kind = end.kind === "complete" ? "llm.complete" : "llm.error";
    expect([tag, ...(entry?.ends.map((event) => event.kind) ?? [])]).toEqual([tag, kind]);
  }
  expectNothingLeaks(world);
}

function expectNothingLeaks(world: World): void {
  const [first = "", second = ""] = world.recorders.map(({ colon, dot }) => colon.text + dot.text);
  for (const [mine, other] of [
    [first, world.room(1)],
    [second, world.room(0)],
  ] as const) {
    expect(mine).not.toContain(other.code);
    expect(mine).not.toContain(`of-room-${other.index}`);
  }
  const everything = [first, second, ...world.said, ...world.hub.log].join("\n");
  expect(everything).not.toContain(secret);
  expect(everything).not.toContain("rhp_");
  expect(world.hub.log.filter((line) => line.includes(" bug "))).toEqual([]);
}

test.for(SEEDS)(
  "whatever people, agents and clients do, listings, events and answers tell the same story (seed %i)",
  { timeout: propertyTimeoutMs },
  async (seed) => {
    const ends = constantFrom("abort", "drain");
    await assert(
      asyncProperty(actions, ends, async (all, lastly) => {
        await using world = await World.start();
        for (const now of all) await step(world, now);
        for (const room of world.rooms) {
          const { participantCount } = await world.hub.client.getRoom(room.code);
          expect(participantCount).toBe(room.people.size);
        }
        if (lastly === "drain") await world.hub.hub.close();
        else {
          for (let left = world.asked.length; left > 0; left--) {
            await step(world, { kind: "abort", nth: 0 });
          }
          for (const room of world.rooms) {
            for (const { load } of (await world.listings(room)).all) {
              expect(load).toMatchObject({ active: 0, queued: 0 });
            }
          }
        }
        await expectCleanBooks(world);
      }),
      {
        ...propertyRuns(seed, 8),
        examples: [movesElsewhere, movesTwice, waitsForLoading, triesAgain].map((all) => [
          all,
          "abort",
        ]),
      },
    );
  },
);
