import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { connectionView } from "../domain/views.ts";
import { createMember, type Member, roomCode, settled } from "./member.fixture.ts";
import { createMemoryCluster } from "./single-node.ts";
import type { ParticipantEntry } from "./participant-entry.ts";

async function twoMembers(): Promise<[Member, Member]> {
  const shared = createMemoryCluster();
  return [await createMember(shared, "a"), await createMember(shared, "b")];
}

describe("a participant of one hub", () => {
  test("is a remote one at the others, with what its hub shows of it", async () => {
    const [a, b] = await twoMembers();
    await a.join("ada", { nickname: "Ada", limit: 4, loadedModels: ["llama3"] });
    await settled();
    expect(b.find("ada")).toMatchObject({
      ...{ nickname: "Ada", limit: 4, loadedModels: ["llama3"], roomCode },
      remote: { owner: a.self, elsewhere: 0, grant: undefined },
    });
    expect([a.replica.remoteCount, b.replica.remoteCount]).toEqual([0, 1]);
  });

  test("whose connection is lost is so at the others, and an older hub sees one that loads", async () => {
    const [a, b] = await twoMembers();
    const before = { readiness: "ready", problem: "", sinceMs: 0 } as const;
    await a.join("ada", { tunnel: { kind: "resuming", streams: 3, sinceMs: 5_000, before } });
    await settled();
    expect(b.find("ada")?.tunnel).toMatchObject({ kind: "resuming", streams: 3, sinceMs: 5_000 });
    expect(connectionView(b.find("ada")!, 7_000)).toMatchObject({
      ...{ connected: false, path: "tunnel", readiness: "loading" },
      resuming: { streams: 3, sinceMs: 2_000 },
      problem: "connection lost 2 s ago, 3 streams wait for it",
    });
  });

  test("changes and leaves there too", async () => {
    const [a, b] = await twoMembers();
    await a.join("ada");
    await a.rename("ada", "Countess");
    expect(b.find("ada")?.nickname).toBe("Countess");
    a.leave("ada");
    await settled();
    expect([b.find("ada"), b.replica.remoteCount]).toEqual([undefined, 0]);
  });

  test("keeps what the other hub measured and runs there, whatever changes", async () => {
    const [a, b] = await twoMembers();
    await a.join("ada");
    await settled();
    const seen = b.find("ada");
    seen!.active = 2;
    const { pace } = seen!;
    await a.rename("ada", "Countess");
    expect(b.find("ada")).toBe(seen);
    expect([seen?.active, seen?.pace === pace]).toEqual([2, true]);
  });

  test("has an id that no other hub can give to another", async () => {
    const [a, b] = await twoMembers();
    b.slow();
    const [first, second] = await Promise.all([a.join("ada"), b.join("ada")]);
    expect([first, second].filter((joined) => joined !== undefined)).toHaveLength(1);
    b.catchUp();
    await settled();
    expect(b.find("ada")?.key).toBe((first ?? second)?.key);
  });

  test("moves to the hub that takes it over, and keeps its place there", async () => {
    const [a, b] = await twoMembers();
    await a.join("ada");
    await settled();
    const seen = b.find("ada");
    expect(await b.membership.takeOver(seen!, false)).toBe(true);
    await settled();
    expect([b.find("ada"), seen?.remote]).toEqual([seen, undefined]);
    expect([a.log, b.log]).toEqual([["disowned ada"], ["adopted ada"]]);
    expect(a.find("ada")?.remote?.owner).toEqual(b.self);
  });

  test("is not taken over by a hub whose view of it is old", async () => {
    const [a, b] = await twoMembers();
    await a.join("ada");
    await settled();
    b.slow();
    await a.rename("ada", "Countess");
    expect(await b.membership.takeOver(b.find("ada")!, false)).toBe(false);
    // It has read the entry since.
    expect(b.find("ada")?.nickname).toBe("Countess");
    expect(await b.membership.takeOver(b.find("ada")!, false)).toBe(true);
  });

  test("is lost to its hub when its next write finds another owner, though no report of that came", async () => {
    const [a, b] = await twoMembers();
    await a.join("ada");
    await settled();
    a.slow();
    await b.membership.takeOver(b.find("ada")!, false);
    await a.rename("ada", "mine");
    expect(a.log).toEqual(["disowned ada"]);
    expect(b.find("ada")?.nickname).not.toBe("mine");
  });

  test.each(["which sees it", "whose next write finds it"])(
    "stays with its hub, %s, when another took that hub for dead",
    async (how) => {
      const [a, b] = await twoMembers();
      await a.join("ada");
      await settled();
      if (how === "whose next write finds it") a.slow();
      const found = await b.directory.readParticipant(roomCode, "ada");
      const orphan = { ...(found?.value as ParticipantEntry), owner: null };
      await b.directory.putParticipant(orphan, found?.revision ?? 0);
      await a.rename("ada", "mine");
      await settled();
      await settled();
      expect(a.ownIds()).toEqual(["ada"]);
      expect(a.log).toEqual([]);
      expect(b.shown()).toEqual({ ada: ["mine", a.self.bootId] });
    },
  );

  test("comes back into the directory when its entry was deleted by mistake", async () => {
    const [a, b] = await twoMembers();
    await a.join("ada");
    await settled();
    await b.directory.deleteParticipant(roomCode, "ada", a.replica.revisionOf(roomCode, "ada"));
    await settled();
    await settled();
    expect(a.ownIds()).toEqual(["ada"]);
    expect(b.find("ada")?.remote?.owner).toEqual(a.self);
  });
});

describe("a hub that cannot reach the directory", () => {
  test("claims nothing: 503 cluster_unavailable", async () => {
    const [a] = await twoMembers();
    a.directory.cutOff();
    await expect(a.join("ada")).rejects.toMatchObject({ code: "cluster_unavailable", status: 503 });
  });

  test("writes changes and leaves of its own participants once it is back", async () => {
    const [a, b] = await twoMembers();
    await a.join("ada");
    await a.join("bob");
    await settled();
    a.directory.cutOff();
    await a.rename("ada", "Countess");
    a.leave("bob");
    await settled();
    expect(b.shown()).toMatchObject({
      ada: ["nick of ada", a.self.bootId],
      bob: expect.anything(),
    });
    a.directory.heal();
    await settled();
    await settled();
    expect(b.shown()).toEqual({ ada: ["Countess", a.self.bootId] });
  });

  test("loses a participant that another hub took meanwhile", async () => {
    const [a, b] = await twoMembers();
    await a.join("ada");
    await settled();
    a.directory.cutOff();
    await b.membership.takeOver(b.find("ada")!, false);
    await a.rename("ada", "mine");
    a.directory.heal();
    await settled();
    await settled();
    expect([a.ownIds(), b.ownIds()]).toEqual([[], ["ada"]]);
    expect(a.log).toEqual(["disowned ada"]);
  });
});

/** What a hub of the property test does; the number says which hub. */
const step = fc.record({
  hub: fc.nat(2),
  id: fc.constantFrom("ada", "bob"),
  act: fc.constantFrom("join", "take", "rename", "leave", "slow", "catchUp", "cutOff", "heal"),
});

test("whatever hubs do at once, slow or cut off: in the end each participant has one owner, and all agree", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { maxLength: 4 }), { maxLength: 12 }),
      async (rounds) => {
        const shared = createMemoryCluster();
        const members = [
          await createMember(shared, "a"),
          await createMember(shared, "b"),
          await createMember(shared, "c"),
        ];
        for (const round of rounds) {
          await Promise.all(round.map(({ hub, id, act }) => perform(members[hub]!, id, act)));
          await settled();
        }
        for (const member of members) {
          member.catchUp();
          member.directory.heal();
        }
        for (let n = 0; n < 6; n++) await settled();
        const owned = members.flatMap((member) => member.ownIds());
        expect(new Set(owned).size).toBe(owned.length);
        for (const member of members) {
          expect(member.shown()).toEqual(members[0]!.shown());
          expect(Object.keys(member.shown()).sort()).toEqual([...owned].sort());
          expect(member.log.filter((line) => line.startsWith("bug"))).toEqual([]);
        }
      },
    ),
    { numRuns: 300 },
  );
});

async function perform(member: Member, id: string, act: string): Promise<void> {
  const existing = member.find(id);
  try {
    if (act === "join" && existing?.remote !== undefined) {
      await member.membership.takeOver(existing, true);
    } else if (act === "join" && existing === undefined) await member.join(id);
    else if (act === "take" && existing !== undefined) {
      await member.membership.takeOver(existing, false);
    } else if (act === "rename") await member.rename(id, `by ${member.self.bootId}`);
    else if (act === "leave") member.leave(id);
  } catch (error) {
    if ((error as { code?: string }).code !== "cluster_unavailable") throw error;
  }
  if (act === "slow") member.slow();
  if (act === "catchUp") member.catchUp();
  if (act === "cutOff") member.directory.cutOff();
  if (act === "heal") member.directory.heal();
}
