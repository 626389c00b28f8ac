import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { longestWaitMs } from "../../../../tests/support/waiting.ts";
import type { StoredRoom } from "../storage/room-store.ts";
import {
  DirectoryUnavailable,
  type ClusterDirectory,
  type DirectoryListener,
} from "./directory.ts";
import type { Home } from "./homes/room-home.ts";
import type { HubPresence } from "./hubs/hub-presence.ts";

/** Where the directories of one cluster come from. */
export interface DirectoryLab {
  /** The directory of one more hub, not yet open. The lab's user closes it. */
  directory(onWarning?: (message: string) => void): ClusterDirectory;
  /** Cuts the directory off, as a broken network would. */
  cutOff(directory: ClusterDirectory): Promise<void>;
  /** Ends that; the directory comes back by itself. */
  heal(directory: ClusterDirectory): Promise<void>;
  close(): Promise<void>;
}

/** A listener that keeps what is reported, as a hub's replica would. */
export class Replica implements DirectoryListener {
  readonly rooms = new Map<string, StoredRoom>();
  readonly hubs = new Map<string, HubPresence>();
  readonly homes = new Map<string, Home>();
  readonly left: string[] = [];
  readonly states: boolean[] = [];
  /** how often the registrations were lost, and the states before */
  readonly losses: boolean[][] = [];
  /** of each entry, in the order of their report */
  readonly revisions = new Map<string, number[]>();
  #onChange: (() => void)[] = [];

  roomChanged(code: string, room: StoredRoom | undefined, revision: number): void {
    if (room === undefined) this.rooms.delete(code);
    else this.rooms.set(code, room);
    this.#note(code, revision);
  }

  homeChanged(code: string, home: Home | undefined, revision: number): void {
    if (home === undefined) this.homes.delete(code);
    else this.homes.set(code, home);
    this.#note(`home of ${code}`, revision);
  }

  registrationsLost(): void {
    this.losses.push([...this.states]);
    this.#changed();
  }

  hubSeen(hubId: string, presence: HubPresence | undefined): void {
    if (presence === undefined) {
      this.hubs.delete(hubId);
      this.left.push(hubId);
    } else this.hubs.set(hubId, presence);
    this.#changed();
  }

  stateChanged(isUp: boolean): void {
    this.states.push(isUp);
    this.#changed();
  }

  /** Resolves as soon as the condition holds. */
  async until(what: string, holds: () => boolean, timeoutMs = longestWaitMs): Promise<void> {
    const giveUp = AbortSignal.timeout(timeoutMs);
    while (!holds()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onChange.push(resolve);
      giveUp.addEventListener("abort", () => resolve(), { once: true });
      await promise;
      if (giveUp.aborted && !holds()) throw new Error(`waited in vain for ${what}`);
    }
  }

  #note(key: string, revision: number): void {
    this.revisions.set(key, [...(this.revisions.get(key) ?? []), revision]);
    this.#changed();
  }

  #changed(): void {
    const waiting = this.#onChange;
    this.#onChange = [];
    for (const resolve of waiting) resolve();
  }
}

export function aStoredRoom(code: string, name = "lab"): StoredRoom {
  const id = "0193b1c4-0000-7000-8000-000000000000";
  return {
    id,
    hostId: id,
    code,
    name,
    createdAt: 1_700_000_000_000,
    lastUsedAt: 1_700_000_000_001,
  };
}

export function aPresence(hubId: string, beat = 1): HubPresence {
  const urls = { advertiseUrl: "http://127.0.0.1:1", linkUrl: "http://127.0.0.1:1" };
  const facts = { version: "0.1.0", startedAt: 1_700_000_000_000, participants: 0 };
  return {
    hubId,
    bootId: "00000001",
    ...urls,
    ...facts,
    beat,
    isDraining: false,
    isStarting: false,
    answers: undefined,
  };
}

/** What holds for each implementation of {@link ClusterDirectory}. */
export function describeDirectory(name: string, createLab: () => Promise<DirectoryLab>): void {
  describe(`a ${name} directory`, () => {
    let lab: DirectoryLab;
    let opened: ClusterDirectory[] = [];
    beforeEach(async () => {
      lab = await createLab();
    });
    afterEach(async () => {
      await Promise.all(opened.map((directory) => directory.close()));
      opened = [];
      await lab.close();
    });

    async function openHub(): Promise<{ directory: ClusterDirectory; replica: Replica }> {
      const directory = lab.directory();
      opened.push(directory);
      const replica = new Replica();
      await directory.open(replica);
      return { directory, replica };
    }

    test("is up once it is open, and says so after it reported all entries", async () => {
      const first = await openHub();
      await first.directory.putRoom(aStoredRoom("AB23CD"), 0);
      const directory = lab.directory();
      opened.push(directory);
      expect([directory.isUp, directory.upSinceMs]).toEqual([false, undefined]);
      const replica = new Replica();
      let roomsWhenUp = -1;
      const note = replica.stateChanged.bind(replica);
      replica.stateChanged = (isUp) => {
        roomsWhenUp = replica.rooms.size;
        note(isUp);
      };
      await directory.open(replica);
      expect([directory.isUp, directory.upSinceMs]).toEqual([true, expect.any(Number)]);
      expect([roomsWhenUp, replica.states]).toEqual([1, [true]]);
    });

    test("reports a change to every hub, the one that made it included", async () => {
      const [one, other] = [await openHub(), await openHub()];
      const revision = await one.directory.putRoom(aStoredRoom("AB23CD", "Bär 🐻"), 0);
      for (const { replica } of [one, other]) {
        await replica.until("the room", () => replica.rooms.has("AB23CD"));
        expect(replica.rooms.get("AB23CD")).toEqual(aStoredRoom("AB23CD", "Bär 🐻"));
        expect(replica.revisions.get("AB23CD")).toEqual([revision]);
      }
    });

    test("reads what is stored, with its revision", async () => {
      const { directory } = await openHub();
      const revision = await directory.putRoom(aStoredRoom("AB23CD"), 0);
      const room = aStoredRoom("AB23CD");
      await expect(directory.readRoom("AB23CD")).resolves.toEqual({ room, revision });
      await expect(directory.readRoom("ZZ23CD")).resolves.toBeUndefined();
    });

    test("keeps no field of a room that is not listed", async () => {
      const { directory } = await openHub();
      const room = { ...aStoredRoom("AB23CD"), password: "swordfish" };
      await directory.putRoom(room, 0);
      const stored = await directory.readRoom("AB23CD");
      expect(JSON.stringify(stored)).not.toContain("swordfish");
    });

    test("lets one of several hubs that create the same entry win", async () => {
      const hubs = await Promise.all([openHub(), openHub(), openHub()]);
      const revisions = await Promise.all(
        hubs.map(({ directory }, at) => directory.putRoom(aStoredRoom("AB23CD", `${at}`), 0)),
      );
      expect(revisions.filter((revision) => revision !== undefined)).toHaveLength(1);
    });

    test("replaces an entry at the expected revision only", async () => {
      const { directory } = await openHub();
      const room = aStoredRoom("AB23CD");
      const first = (await directory.putRoom(room, 0)) ?? 0;
      const second = (await directory.putRoom(room, first)) ?? 0;
      expect(second).toBeGreaterThan(first);
      await expect(directory.putRoom(room, first)).resolves.toBeUndefined();
      await expect(directory.putRoom(room, 0)).resolves.toBeUndefined();
      await expect(directory.putRoom(room, second + 1)).resolves.toBeUndefined();
      await expect(directory.readRoom("AB23CD")).resolves.toMatchObject({ revision: second });
    });

    test("deletes an entry at the expected revision only, and lets it be made again", async () => {
      const [one, other] = [await openHub(), await openHub()];
      const first = (await one.directory.putRoom(aStoredRoom("AB23CD"), 0)) ?? 0;
      await expect(one.directory.deleteRoom("AB23CD", 0)).resolves.toBe(false);
      await expect(one.directory.deleteRoom("AB23CD", first + 1)).resolves.toBe(false);
      await expect(one.directory.deleteRoom("ZZ23CD", first)).resolves.toBe(false);
      await other.replica.until("the room", () => other.replica.rooms.size === 1);
      await expect(one.directory.deleteRoom("AB23CD", first)).resolves.toBe(true);
      await other.replica.until("its deletion", () => other.replica.rooms.size === 0);
      await expect(one.directory.readRoom("AB23CD")).resolves.toBeUndefined();
      await expect(one.directory.putRoom(aStoredRoom("AB23CD"), first)).resolves.toBeUndefined();
      const again = (await one.directory.putRoom(aStoredRoom("AB23CD"), 0)) ?? 0;
      expect(again).toBeGreaterThan(first);
    });

    test("reports a thousand changes of one entry in order, the last one at the end", async () => {
      const [one, other] = [await openHub(), await openHub()];
      let revision = 0;
      for (let at = 0; at < 1_000; at++) {
        revision = (await one.directory.putRoom(aStoredRoom("AB23CD", `${at}`), revision)) ?? 0;
      }
      await other.replica.until(
        "the last",
        () => other.replica.rooms.get("AB23CD")?.name === "999",
      );
      const seen = other.replica.revisions.get("AB23CD") ?? [];
      expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
      expect(seen.at(-1)).toBe(revision);
    });

    test("shows each hub the presence of the others and its end, not its own", async () => {
      const [one, other] = [await openHub(), await openHub()];
      one.directory.announce(() => aPresence("00000000000000aa"));
      other.directory.announce(() => aPresence("00000000000000bb"));
      await one.replica.until("the other", () => one.replica.hubs.has("00000000000000bb"));
      await other.replica.until("the one", () => other.replica.hubs.has("00000000000000aa"));
      expect(other.replica.hubs.get("00000000000000aa")).toEqual(aPresence("00000000000000aa"));
      await one.directory.close();
      await other.replica.until("its end", () => other.replica.left.length === 1);
      expect(other.replica.left).toEqual(["00000000000000aa"]);
      expect([...one.replica.hubs.keys()]).toEqual(["00000000000000bb"]);
      const later = await openHub();
      expect([...later.replica.hubs.keys()]).toEqual(["00000000000000bb"]);
    });

    test("shows a hub that another one beats under its id, and not that this one left", async () => {
      const [one, other, third] = [await openHub(), await openHub(), await openHub()];
      const twin = { ...aPresence("00000000000000aa"), bootId: "22222222" };
      one.directory.announce(() => aPresence("00000000000000aa"));
      await third.replica.until("the one", () => third.replica.hubs.size === 1);
      other.directory.announce(() => twin);
      third.directory.announce(() => aPresence("00000000000000bb"));
      await one.replica.until("its twin", () => one.replica.hubs.has("00000000000000aa"));
      expect(one.replica.hubs.get("00000000000000aa")).toEqual(twin);
      await other.directory.close();
      await third.replica.until("its end", () => third.replica.left.length === 1);
      await third.directory.close();
      await one.replica.until("the third's end", () => one.replica.left.length > 0);
      expect(one.replica.left).toEqual(["00000000000000bb"]);
    });

    test("leaves the presence that another process wrote under its id after it", async () => {
      const [one, other, third] = [await openHub(), await openHub(), await openHub()];
      const next = { ...aPresence("00000000000000aa"), bootId: "22222222" };
      one.directory.announce(() => aPresence("00000000000000aa"));
      await third.replica.until("the one", () => third.replica.hubs.size === 1);
      other.directory.announce(() => next);
      const isNext = () => third.replica.hubs.get("00000000000000aa")?.bootId === next.bootId;
      await third.replica.until("the next", isNext);
      await one.directory.close();
      await other.directory.close();
      await third.replica.until("its end", () => third.replica.left.length > 0);
      expect(third.replica.left).toEqual(["00000000000000aa"]);
    });

    test("announces from its opening on when that was requested before", async () => {
      const one = await openHub();
      const directory = lab.directory();
      opened.push(directory);
      directory.announce(() => aPresence("00000000000000bb"));
      await directory.open(new Replica());
      await one.replica.until("the other", () => one.replica.hubs.has("00000000000000bb"));
    });

    test("refuses changes and reads while it is cut off, and says that it is down", async () => {
      const { directory, replica } = await openHub();
      await lab.cutOff(directory);
      await replica.until("the cut", () => replica.states.at(-1) === false);
      expect([directory.isUp, directory.upSinceMs]).toEqual([false, undefined]);
      const refused = { name: DirectoryUnavailable.name };
      await expect(directory.putRoom(aStoredRoom("AB23CD"), 0)).rejects.toMatchObject(refused);
      await expect(directory.deleteRoom("AB23CD", 1)).rejects.toMatchObject(refused);
      await expect(directory.readRoom("AB23CD")).rejects.toMatchObject(refused);
      await lab.heal(directory);
      await replica.until("its return", () => replica.states.at(-1) === true);
      expect(directory.upSinceMs).toEqual(expect.any(Number));
      expect(replica.states).toEqual([true, false, true]);
      await expect(directory.putRoom(aStoredRoom("AB23CD"), 0)).resolves.toEqual(
        expect.any(Number),
      );
    });

    test("reports after a cut all that changed meanwhile, deletions included, and nothing else", async () => {
      const [one, other] = [await openHub(), await openHub()];
      const revisions: Record<string, number> = {};
      for (const code of ["KEPT23", "GONE23", "NEWER2"])
        revisions[code] = (await one.directory.putRoom(aStoredRoom(code), 0)) ?? 0;
      await other.replica.until("all", () => other.replica.rooms.size === 3);
      await lab.cutOff(other.directory);
      await other.replica.until("the cut", () => other.replica.states.at(-1) === false);
      await one.directory.deleteRoom("GONE23", revisions["GONE23"] ?? 0);
      await one.directory.putRoom(aStoredRoom("NEWER2", "new"), revisions["NEWER2"] ?? 0);
      await one.directory.putRoom(aStoredRoom("ADDED2"), 0);
      expect(other.replica.rooms.size).toBe(3);
      await lab.heal(other.directory);
      await other.replica.until("its return", () => other.replica.states.at(-1) === true);
      expect([...other.replica.rooms.keys()].sort()).toEqual(["ADDED2", "KEPT23", "NEWER2"]);
      expect(other.replica.rooms.get("NEWER2")?.name).toBe("new");
      expect(other.replica.revisions.get("KEPT23")).toEqual([revisions["KEPT23"]]);
    });

    test("reports nothing once it is closed, and closes twice", async () => {
      const [one, other] = [await openHub(), await openHub()];
      await other.directory.close();
      await other.directory.close();
      const states = other.replica.states.length;
      await one.directory.putRoom(aStoredRoom("AB23CD"), 0);
      await one.replica.until("the room", () => one.replica.rooms.size === 1);
      expect([other.replica.rooms.size, other.replica.states.length]).toEqual([0, states]);
      await expect(other.directory.readRoom("AB23CD")).rejects.toBeInstanceOf(DirectoryUnavailable);
    });
  });
}
