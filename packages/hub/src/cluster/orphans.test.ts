import { describe, expect, test } from "vitest";
import type { Participant } from "../domain/participant.ts";
import { createMember, type Member, settled } from "./member.fixture.ts";
import { Orphans } from "./orphans.ts";
import { encodeParticipant } from "./participant-entry.ts";
import { createMemoryCluster } from "./single-node.ts";

/** Hubs that outlive the one that owns `ada`; `dead` says which hubs are. */
async function createSurvivors(count: number) {
  const shared = createMemoryCluster();
  const owner = await createMember(shared, "d");
  await owner.join("ada");
  const state = { nowMs: 0, dead: false };
  const events: string[] = [];
  const survivors: { member: Member; orphans: Orphans }[] = [];
  for (const name of "abc".slice(0, count)) {
    const member = await createMember(shared, name);
    await settled();
    const orphans = new Orphans({
      directory: member.directory,
      replica: member.replica,
      participants: () => member.room.participants.values(),
      isDead: ({ bootId }) => state.dead && bootId === owner.self.bootId,
      entryOf: (participant: Participant) =>
        encodeParticipant(
          participant,
          { owner: participant.remote?.owner ?? null, machine: null, hasSecrets: false },
          { nowMs: () => 0, wallMs: () => 0 },
        ),
      offlineAfterMs: 30_000,
      expireAfterMs: 24 * 3_600_000,
      nowMs: () => state.nowMs,
      random: () => 0.5,
      announce: ({ id, status }, what) => void events.push(`${what} ${id} ${status}`),
      reportBug: (error) => void events.push(String(error)),
    });
    survivors.push({ member, orphans });
  }
  return {
    ...{ owner, events, survivors, state },
    die(): void {
      state.dead = true;
      owner.directory.cutOff();
    },
    async passTo(nowMs: number): Promise<void> {
      // Two looks: the first notices, and writes come a moment later.
      for (const at of [nowMs, nowMs + 600]) {
        state.nowMs = at;
        for (const { orphans } of survivors) orphans.tick();
        await settled();
      }
    },
  };
}

describe("the participants of a hub that died", () => {
  test("are left alone while it is not known to be dead", async () => {
    const lab = await createSurvivors(2);
    await lab.passTo(100_000);
    expect(lab.events).toEqual([]);
  });

  test("are disconnected at once, by one of those that survive", async () => {
    const lab = await createSurvivors(3);
    lab.die();
    await lab.passTo(0);
    expect(lab.events).toEqual(["updated ada online"]);
    for (const { member } of lab.survivors) {
      expect(member.find("ada")?.remote?.owner).toBeUndefined();
    }
  });

  test("are offline 30 s after that, with one event, and leave after a day", async () => {
    const lab = await createSurvivors(3);
    lab.die();
    await lab.passTo(0);
    await lab.passTo(28_000);
    expect(lab.events).toHaveLength(1);
    await lab.passTo(30_000);
    expect(lab.events).toEqual(["updated ada online", "offline ada offline"]);
    await lab.passTo(24 * 3_600_000);
    expect(lab.events.slice(2)).toEqual(["expired ada offline"]);
    expect(lab.survivors.map(({ member }) => member.find("ada"))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("are never offline when another hub takes them before", async () => {
    const lab = await createSurvivors(2);
    lab.die();
    await lab.passTo(0);
    const { member } = lab.survivors[0]!;
    expect(await member.membership.takeOver(member.find("ada")!, true)).toBe(true);
    await settled();
    await lab.passTo(60_000);
    expect(lab.events).toEqual(["updated ada online"]);
  });

  test("are announced when the directory comes back, not before", async () => {
    const lab = await createSurvivors(1);
    lab.die();
    const { member } = lab.survivors[0]!;
    member.directory.cutOff();
    await lab.passTo(0);
    expect(lab.events).toEqual([]);
    member.directory.heal();
    await settled();
    await lab.passTo(5_000);
    expect(lab.events).toEqual(["updated ada online"]);
  });
});
