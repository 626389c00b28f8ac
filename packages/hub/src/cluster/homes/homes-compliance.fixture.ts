import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type DirectoryLab, Replica } from "../directory-compliance.fixture.ts";
import { type ClusterDirectory, DirectoryUnavailable, type EntryStore } from "../directory.ts";
import { encodeKey } from "../entry-codec.ts";
import { aRegistration } from "./registration.fixture.ts";
import type { Home } from "./room-home.ts";

const code = "AB23CD";

function aHome(epoch: number, name = "a"): Home {
  return { hubId: name.repeat(16), bootId: name.repeat(8), epoch };
}

/** What holds for the homes of rooms and their registrations in each implementation of {@link ClusterDirectory}. */
export function describeHomes(name: string, createLab: () => Promise<DirectoryLab>): void {
  describe(`homes in a ${name} directory`, () => {
    let lab: DirectoryLab;
    let opened: ClusterDirectory[] = [];
    const warnings: string[] = [];
    beforeEach(async () => {
      lab = await createLab();
      warnings.length = 0;
    });
    afterEach(async () => {
      await Promise.all(opened.map((directory) => directory.close()));
      opened = [];
      await lab.close();
    });

    async function openHub(): Promise<{ directory: ClusterDirectory; replica: Replica }> {
      const directory = lab.directory((message) => warnings.push(message));
      opened.push(directory);
      const replica = new Replica();
      await directory.open(replica);
      return { directory, replica };
    }

    test("a home is reported to every hub with its revision, and read as it is stored", async () => {
      const [one, other] = [await openHub(), await openHub()];
      const revision = await one.directory.putHome(code, aHome(1), 0);
      for (const { replica, directory } of [one, other]) {
        await replica.until("the home", () => replica.homes.has(code));
        expect(replica.homes.get(code)).toEqual(aHome(1));
        expect(replica.revisions.get(`home of ${code}`)).toEqual([revision]);
        await expect(directory.readHome(code)).resolves.toEqual({ home: aHome(1), revision });
      }
      await expect(one.directory.readHome("ZZ23CD")).resolves.toBeUndefined();
    });

    test("of several hubs that take a room at once, one becomes its home", async () => {
      const hubs = await Promise.all([openHub(), openHub(), openHub()]);
      const outcomes = await Promise.all(
        hubs.map(({ directory }, at) => directory.putHome(code, aHome(1, "abc"[at]), 0)),
      );
      expect(outcomes.filter((revision) => revision !== undefined)).toHaveLength(1);
      const winner = "abc"[outcomes.findIndex((revision) => revision !== undefined)];
      await expect(hubs[0]?.directory.readHome(code)).resolves.toMatchObject({
        home: aHome(1, winner),
      });
    });

    test("a home is replaced and deleted at the expected revision only", async () => {
      const [one, other] = [await openHub(), await openHub()];
      const first = (await one.directory.putHome(code, aHome(1), 0)) ?? 0;
      const second = (await other.directory.putHome(code, aHome(2, "b"), first)) ?? 0;
      expect(second).toBeGreaterThan(first);
      await expect(one.directory.putHome(code, aHome(2), first)).resolves.toBeUndefined();
      await expect(one.directory.putHome(code, aHome(2), 0)).resolves.toBeUndefined();
      await expect(one.directory.deleteHome(code, first)).resolves.toBe(false);
      await expect(one.directory.deleteHome(code, second)).resolves.toBe(true);
      await one.replica.until("its deletion", () => one.replica.homes.size === 0);
      await expect(one.directory.readHome(code)).resolves.toBeUndefined();
      const third = (await one.directory.putHome(code, aHome(3), 0)) ?? 0;
      expect(third).toBeGreaterThan(second);
    });

    test("a hub that opens later is told all homes before it is up", async () => {
      const first = await openHub();
      for (const each of ["AB23CD", "CD23EF", "EF23GH"])
        await first.directory.putHome(each, aHome(1), 0);
      const later = lab.directory();
      opened.push(later);
      const replica = new Replica();
      let homesWhenUp = -1;
      const note = replica.stateChanged.bind(replica);
      replica.stateChanged = (isUp) => {
        homesWhenUp = replica.homes.size;
        note(isUp);
      };
      await later.open(replica);
      expect(homesWhenUp).toBe(3);
    });

    test("a hub that was cut off is told the homes that changed meanwhile, once, and no other", async () => {
      const [one, other] = [await openHub(), await openHub()];
      const kept = await one.directory.putHome("KEPT23", aHome(1), 0);
      const moved = (await one.directory.putHome("MOVED2", aHome(1), 0)) ?? 0;
      const gone = (await one.directory.putHome("GONE23", aHome(1), 0)) ?? 0;
      const { replica } = other;
      await replica.until("all", () => replica.homes.size === 3);
      await lab.cutOff(other.directory);
      await replica.until("the cut", () => replica.states.at(-1) === false);
      await one.directory.deleteHome("GONE23", gone);
      const movedTo = await one.directory.putHome("MOVED2", aHome(2, "b"), moved);
      await lab.heal(other.directory);
      await replica.until("its return", () => replica.states.at(-1) === true);
      expect(Object.fromEntries(replica.homes)).toEqual({
        KEPT23: aHome(1),
        MOVED2: aHome(2, "b"),
      });
      expect(replica.revisions.get("home of KEPT23")).toEqual([kept]);
      expect(replica.revisions.get("home of MOVED2")).toEqual([moved, movedTo]);
    });

    test("registrations are read by room, as they were written last, and reported to no hub", async () => {
      const [one, other] = [await openHub(), await openHub()];
      const ada = aRegistration(code, "ada:1@lab ü");
      await one.directory.putRegistration(ada);
      await one.directory.putRegistration({ ...ada, nickname: "Bär 🐻" });
      await one.directory.putRegistration(aRegistration(code, "bob", { liveness: "probe" }));
      await one.directory.putRegistration(aRegistration("AB23C", "eve"));
      const found = await other.directory.readRegistrations(code);
      expect(found.sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
        { ...ada, nickname: "Bär 🐻" },
        aRegistration(code, "bob", { liveness: "probe" }),
      ]);
      await expect(other.directory.readRegistrations("ZZ23CD")).resolves.toEqual([]);
      // What is reported comes in order: a registration would have come before this.
      await one.directory.putHome(code, aHome(1), 0);
      await other.replica.until("the home", () => other.replica.homes.size === 1);
      expect([...other.replica.revisions.keys()]).toEqual([`home of ${code}`]);
    });

    test("a deleted registration is not read, may be deleted again, and may be written again", async () => {
      const { directory } = await openHub();
      await directory.putRegistration(aRegistration(code, "ada"));
      await directory.putRegistration(aRegistration(code, "bob"));
      await directory.deleteRegistration(code, "ada");
      await directory.deleteRegistration(code, "ada");
      await directory.deleteRegistration(code, "nobody");
      const ids = async () =>
        (await directory.readRegistrations(code))
          .map(({ id }) => id)
          .sort((a, b) => (a < b ? -1 : 1));
      expect(await ids()).toEqual(["bob"]);
      await directory.putRegistration(aRegistration(code, "ada"));
      expect(await ids()).toEqual(["ada", "bob"]);
    });

    test("a room's 500 registrations are all read", async () => {
      const { directory } = await openHub();
      const ids = Array.from({ length: 500 }, (_each, at) => `p${String(at).padStart(3, "0")}`);
      await Promise.all(ids.map((id) => directory.putRegistration(aRegistration(code, id))));
      const found = await directory.readRegistrations(code);
      expect(found.map(({ id }) => id).sort((a, b) => (a < b ? -1 : 1))).toEqual(ids);
    });

    test("a registration over 64 KiB is refused", async () => {
      const { directory } = await openHub();
      const large = aRegistration(code, "ada", { nickname: "x".repeat(64 * 1024) });
      await expect(directory.putRegistration(large)).rejects.toMatchObject({
        code: "field_too_large",
      });
      await expect(directory.readRegistrations(code)).resolves.toEqual([]);
    });

    test("homes and registrations that cannot be read are left out with a warning that repeats nothing of them", async () => {
      const { directory, replica } = await openHub();
      await directory.putRegistration(aRegistration(code, "ada"));
      const strange = '{"hubId":"swordfish","epoch":0,"version":9}';
      await writeText(directory, "registrations", encodeKey(code, "bob"), strange);
      await writeText(directory, "registrations", encodeKey(code, "eve"), "swordfish");
      await writeText(directory, "homes", encodeKey(code), strange);
      await directory.putHome("CD23EF", aHome(1), 0);
      await replica.until("the other home", () => replica.homes.has("CD23EF"));
      expect([...replica.homes.keys()]).toEqual(["CD23EF"]);
      await expect(directory.readHome(code)).resolves.toBeUndefined();
      const found = await directory.readRegistrations(code);
      expect(found.map(({ id }) => id)).toEqual(["ada"]);
      expect(warnings.join()).toMatch(/homes was skipped.*registrations was skipped/s);
      expect(warnings.join()).not.toContain("swordfish");
    });

    test("while a hub is cut off it can neither change nor read homes and registrations", async () => {
      const { directory, replica } = await openHub();
      await lab.cutOff(directory);
      await replica.until("the cut", () => replica.states.at(-1) === false);
      const calls = [
        () => directory.putHome(code, aHome(1), 0),
        () => directory.deleteHome(code, 1),
        () => directory.readHome(code),
        () => directory.putRegistration(aRegistration(code, "ada")),
        () => directory.deleteRegistration(code, "ada"),
        () => directory.readRegistrations(code),
      ];
      for (const call of calls) await expect(call()).rejects.toBeInstanceOf(DirectoryUnavailable);
    });
  });
}

/** As another version of the program, or a hand, may write it. */
async function writeText(
  directory: ClusterDirectory,
  kind: "homes" | "registrations",
  key: string,
  text: string,
): Promise<void> {
  type Writing = { reach(kind: string, work: (store: EntryStore) => Promise<unknown>): unknown };
  await (directory as unknown as Writing).reach(kind, (all) => all.put(key, text, undefined));
}
