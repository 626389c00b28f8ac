import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Participant } from "../../domain/participant.ts";
import { aParticipant, aRoom, type ParticipantFields } from "../../domain/room.fixture.ts";
import { storedRegistrationOf, type StoredRegistration } from "../../domain/stored-registration.ts";
import { HubError } from "../../errors.ts";
import { Replica } from "../directory-compliance.fixture.ts";
import { DirectoryUnavailable } from "../directory.ts";
import { createMemoryCluster } from "../memory-cluster.fixture.ts";
import { RegistrationWriter } from "./registration-writer.ts";

const code = "ABC234";
const hourMs = 3_600_000;
const elsewhere = {
  kind: "there" as const,
  home: { hubId: "00000000000000bb", bootId: "000000b1", epoch: 2 },
  mustTake: false,
};

/** A hub whose rooms all have their home here, until a test says otherwise. */
async function openHome() {
  const directory = createMemoryCluster().directory();
  await directory.open(new Replica());
  const participants = new Map<string, Participant>();
  const calls: string[] = [];
  const bugs: unknown[] = [];
  const state = {
    wallMs: 1_700_000_000_000,
    isElsewhere: false,
    /** each call of the directory waits for it */
    gate: Promise.resolve(),
    problem: undefined as Error | undefined,
    /** what is written is not acknowledged */
    isMute: false,
  };
  const leave = () => {
    if (state.isMute) throw new DirectoryUnavailable("no response");
  };
  const enter = async (call: string) => {
    calls.push(call);
    await state.gate;
    if (state.problem !== undefined) throw state.problem;
  };
  const writer = new RegistrationWriter({
    directory: {
      async putRegistration(registration: StoredRegistration) {
        await enter(`put ${registration.id} ${registration.nickname}`);
        await directory.putRegistration(registration);
        leave();
      },
      async deleteRegistration(roomCode: string, id: string) {
        await enter(`delete ${id}`);
        await directory.deleteRegistration(roomCode, id);
        leave();
      },
    },
    registry: {
      findRoom: () => ({ ...aRoom(), participants }),
      participants: () => participants.values(),
    },
    encode: (participant) =>
      storedRegistrationOf(
        { ...participant, tokenDigest: Buffer.alloc(32, 7) },
        { hasAuthHeaders: false, computer: "0a0a", storedAt: state.wallMs },
      ),
    homes: {
      placeOf: () => (state.isElsewhere ? elsewhere : { kind: "here", epoch: 1 }),
      isLeaving: () => state.isElsewhere,
      epochHere: () => 1,
      async confirm() {
        if (!directory.isUp) throw new DirectoryUnavailable("away");
        if (state.isElsewhere) throw new HubError("peer_unavailable", "The room has another home.");
      },
    },
    wallMs: () => state.wallMs,
    reportBug: (error) => bugs.push(error),
  });
  const set = (id: string, nickname: string, fields: ParticipantFields = {}) => {
    const participant = aParticipant({ id, nickname, roomCode: code, ...fields });
    participants.set(id, participant);
    return writer.changed(participant);
  };
  const remove = (id: string) => {
    participants.delete(id);
    return writer.changed({ roomCode: code, id });
  };
  const stored = async () =>
    Object.fromEntries(
      (await directory.readRegistrations(code)).map(({ id, nickname }) => [id, nickname]),
    );
  return { directory, writer, participants, state, calls, bugs, set, remove, stored };
}

describe("the registrations of a home", () => {
  test("are stored when a change is over, and gone when a participant has left", async () => {
    const { set, remove, stored } = await openHome();
    await set("ada", "Ada");
    await set("bob", "Bob");
    expect(await stored()).toEqual({ ada: "Ada", bob: "Bob" });
    await set("ada", "Ada Lovelace");
    await remove("bob");
    expect(await stored()).toEqual({ ada: "Ada Lovelace" });
  });

  test("are written once for changes of one moment", async () => {
    const { set, remove, calls } = await openHome();
    await Promise.all([set("ada", "1"), set("ada", "2"), remove("bob"), set("bob", "3")]);
    expect(calls).toEqual(["put ada 2", "put bob 3"]);
  });

  test("are written one after the other per participant, and the changes during a write as one", async () => {
    const { set, calls, state, stored } = await openHome();
    const { promise, resolve } = Promise.withResolvers<void>();
    state.gate = promise;
    const first = set("ada", "1");
    await Promise.resolve();
    const later = [set("ada", "2"), set("ada", "3")];
    expect(calls).toEqual(["put ada 1"]);
    resolve();
    await Promise.all([first, ...later]);
    expect(calls).toEqual(["put ada 1", "put ada 3"]);
    expect(await stored()).toEqual({ ada: "3" });
  });

  test("are written later while the directory is away, each as it is then", async () => {
    const { directory, writer, set, remove, stored, calls } = await openHome();
    await set("ada", "1");
    await set("bob", "1");
    directory.cutOff();
    await set("ada", "2");
    await set("ada", "3");
    await set("eve", "1");
    await remove("bob");
    await remove("eve");
    expect(writer.pendingCount).toBe(3);
    directory.heal();
    calls.length = 0;
    await writer.retry();
    expect(calls.sort()).toEqual(["delete bob", "delete eve", "put ada 3"]);
    expect(writer.pendingCount).toBe(0);
    expect(await stored()).toEqual({ ada: "3" });
    calls.length = 0;
    await writer.retry();
    expect(calls).toEqual([]);
  });

  test("are not confirmed, or written, once another hub is the home", async () => {
    const { set, state, stored, writer } = await openHome();
    await set("ada", "1");
    state.isElsewhere = true;
    await expect(set("ada", "2")).rejects.toMatchObject({ code: "peer_unavailable" });
    expect(await stored()).toEqual({ ada: "1" });
    expect(writer.pendingCount).toBe(0);
  });

  test("are not confirmed when the home was lost during the write", async () => {
    const { set, state } = await openHome();
    const { promise, resolve } = Promise.withResolvers<void>();
    state.gate = promise;
    const joining = set("ada", "1");
    await Promise.resolve();
    state.isElsewhere = true;
    resolve();
    await expect(joining).rejects.toMatchObject({ code: "peer_unavailable" });
  });

  test("that wait for the directory are left to the next home once there is one", async () => {
    const { directory, writer, set, remove, stored, calls } = await openHome();
    await set("ada", "1");
    directory.cutOff();
    await remove("ada");
    await set("bob", "1");
    writer.release("ZZ23CD");
    expect(writer.pendingCount).toBe(2);
    writer.release(code);
    directory.heal();
    calls.length = 0;
    await writer.retry();
    expect(calls).toEqual([]);
    expect(await stored()).toEqual({ ada: "1" });
  });

  test("are all written again when the directory has lost them", async () => {
    const { writer, set, stored, directory } = await openHome();
    const ids = Array.from({ length: 250 }, (_each, at) => `p${at}`);
    await Promise.all(ids.map((id) => set(id, "1")));
    for (const id of ids) await directory.deleteRegistration(code, id);
    writer.lost();
    await writer.retry();
    expect(Object.keys(await stored())).toHaveLength(250);
  });

  test("are renewed after an hour for those that are online, and for nobody else", async () => {
    const { writer, set, state, calls, directory } = await openHome();
    await set("ada", "1");
    await set("bob", "1", { status: "offline" });
    const lost = { authHeaders: true, instructions: false, machineSecret: false };
    await set("eve", "1", { returning: lost });
    calls.length = 0;
    state.wallMs += hourMs - 1;
    await writer.renew();
    expect(calls).toEqual([]);
    state.wallMs += 1;
    await writer.renew();
    await writer.renew();
    expect(calls).toEqual(["put ada 1"]);
    const ada = (await directory.readRegistrations(code)).find(({ id }) => id === "ada");
    expect(ada?.storedAt).toBe(state.wallMs);
  });

  test("that cannot be written for a reason of their own are refused, and a bug is reported", async () => {
    const { set, state, bugs, writer } = await openHome();
    state.problem = new HubError("field_too_large", "It is too large.");
    await expect(set("ada", "1")).rejects.toMatchObject({ code: "field_too_large" });
    expect(bugs).toEqual([]);
    state.problem = new TypeError("a bug");
    await expect(set("ada", "1")).rejects.toThrow("a bug");
    expect(bugs).toEqual([state.problem]);
    expect(writer.pendingCount).toBe(0);
  });

  test("are stored when acknowledged, and in the end as the participants are, whatever is cut off or not acknowledged in between", async () => {
    const id = fc.constantFrom("ada", "bob", "eve");
    const step = fc.oneof(
      fc.record({ kind: fc.constant("set" as const), id, nickname: fc.string({ maxLength: 3 }) }),
      fc.record({ kind: fc.constant("remove" as const), id }),
      fc.record({
        kind: fc.constantFrom("cut" as const, "mute" as const, "heal" as const, "settle" as const),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const home = await openHome();
        const { directory, writer, participants, stored } = home;
        const expected = () =>
          Object.fromEntries([...participants].map(([key, { nickname }]) => [key, nickname]));
        const acknowledged: Promise<void>[] = [];
        let isWhole = true;
        for (const each of steps) {
          if (each.kind === "set") acknowledged.push(home.set(each.id, each.nickname));
          else if (each.kind === "remove") acknowledged.push(home.remove(each.id));
          else if (each.kind === "cut") {
            directory.cutOff();
            isWhole = false;
          } else if (each.kind === "mute") {
            home.state.isMute = true;
            isWhole = false;
          } else if (each.kind === "heal") {
            directory.heal();
            home.state.isMute = false;
          } else {
            await Promise.all(acknowledged.splice(0));
            if (isWhole) expect(await stored()).toEqual(expected());
          }
        }
        await Promise.all(acknowledged);
        directory.heal();
        home.state.isMute = false;
        // What the directory reports when it is back comes first.
        await new Promise((resolve) => setImmediate(resolve));
        await writer.retry();
        expect(await stored()).toEqual(expected());
        expect([writer.pendingCount, home.bugs.length]).toEqual([0, 0]);
      }),
    );
  });
});
