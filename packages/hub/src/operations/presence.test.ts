import type { JoinRequest } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { createOffice, elsewhere, home, peerAt } from "./operations.fixture.ts";
import { participantView } from "../domain/views.ts";
import { leaveParticipant } from "./participants.ts";
import { statusReported, tunnelOpened } from "./tunnel-path.ts";
import { updateParticipant } from "./update-participant.ts";

const secret = (letter: string) => letter.repeat(43);

/** Whether two joins are in front of one machine. */
async function share(
  one: Partial<JoinRequest>,
  other: Partial<JoinRequest>,
  address = home,
): Promise<boolean> {
  const office = createOffice();
  const first = await office.join({ id: "one", ...one });
  const second = await office.join({ id: "other", ...other }, peerAt(address));
  return (
    first.participant.load.machine !== undefined &&
    first.participant.load.machine === second.participant.load.machine
  );
}

const endpoint = "http://10.0.0.7:11434";
const tunnel = { transport: "tunnel" } as const;

describe("two participants are in front of one machine", () => {
  test.each([
    [
      "when their agents prove the same secret",
      { ...tunnel, machineSecret: secret("a") },
      { ...tunnel, machineSecret: secret("a") },
    ],
    [
      "with the same endpoint, whatever their models",
      { endpoint, model: "x" },
      { endpoint, model: "y" },
    ],
    [
      "with the same credentials",
      { endpoint, authHeaders: { a: "1", b: "2" } },
      { endpoint, authHeaders: { b: "2", a: "1" } },
    ],
  ])("%s", async (_what, one, other) => {
    expect(await share(one, other)).toBe(true);
  });

  test.each([
    [
      "when their agents prove different secrets",
      { ...tunnel, machineSecret: secret("a") },
      { ...tunnel, machineSecret: secret("b") },
    ],
    ["when their agents prove none", tunnel, tunnel],
    ["with different credentials", { endpoint, authHeaders: { a: "1" } }, { endpoint }],
    ["with different endpoints", { endpoint }, { endpoint: "http://10.0.0.7:1234" }],
  ])("but not %s", async (_what, one, other) => {
    expect(await share(one, other)).toBe(false);
  });

  test("but not when they were registered from different addresses", async () => {
    expect(await share({ endpoint }, { endpoint }, elsewhere)).toBe(false);
  });
});

test("a participant moves to another machine with its endpoint, and leaves it with the room", async () => {
  const office = createOffice();
  const { participant } = await office.join({ endpoint });
  const before = participant.load.machine;
  await updateParticipant(
    office.context,
    office.room,
    "ada",
    { endpoint: "http://10.0.0.8:1" },
    peerAt(home),
  );
  expect(participant.load.machine).toBeDefined();
  expect(participant.load.machine).not.toBe(before);
  expect(office.context.machines.size).toBe(1);
});

describe("requests that wait in another room of the machine are routed again", () => {
  /** Ada declares a limit of one request, ben none; they share a machine from two rooms. */
  async function startRooms() {
    const office = createOffice();
    const otherRoom = await office.addRoom();
    const shared = { ...tunnel, machineSecret: secret("a") };
    const { participant } = await office.join({ ...shared, config: { maxConcurrency: 1 } });
    const ben = (await office.join({ ...shared, id: "ben" }, peerAt(home), otherRoom)).participant;
    tunnelOpened(office.context, participant, { ready: true });
    expect(ben.load.machine?.limit).toBe(1);
    office.woken.length = 0;
    return { ...office, otherRoom, participant, ben };
  }

  test("when the participant that limits it leaves", async () => {
    const { context, room, woken, otherRoom, ben } = await startRooms();
    await leaveParticipant(context, room, "ada", peerAt(home));
    expect(ben.load.machine?.limit).toBe(4);
    expect(woken).toContain(otherRoom);
  });

  test("when that participant declares more", async () => {
    const { context, room, woken, otherRoom, ben } = await startRooms();
    await updateParticipant(context, room, "ada", { config: { maxConcurrency: 3 } }, peerAt(home));
    expect(ben.load.machine?.limit).toBe(3);
    expect(woken).toContain(otherRoom);
  });

  test("when its agent reports more", async () => {
    const { context, participant, room, woken, otherRoom, ben } = await startRooms();
    statusReported(context, participant, { ready: true, limit: 7 });
    expect(ben.load.machine?.limit).toBe(7);
    expect(woken).toEqual(expect.arrayContaining([room, otherRoom]));
  });
});

describe("of one machine", () => {
  const declared = { ...tunnel, machineSecret: secret("a"), config: { maxConcurrency: 1 } };
  const agents = ["1", "2"].map((digit) => `00000000-0000-4000-8000-00000000000${digit}`);

  test("the limits of different agents add up, as each of them is listed", async () => {
    const office = createOffice();
    const [first, second] = agents;
    await office.join({ ...declared, id: "one", agentId: first });
    await office.join({ ...declared, id: "two", agentId: first });
    const { participant } = await office.join({ ...declared, id: "three", agentId: second });
    expect(participantView(participant, 0)).toMatchObject({
      agentId: second,
      load: { limit: 1, machine: { limit: 2, participants: 3 } },
    });
  });

  test("a participant keeps its agent when it is changed, and has another when it joins again", async () => {
    const office = createOffice();
    const [first, second] = agents;
    const { participant } = await office.join({ ...declared, agentId: first });
    const change = { nickname: "Countess" };
    await updateParticipant(office.context, office.room, "ada", change, peerAt(home));
    expect(participant.agentId).toBe(first);
    await office.join({ ...declared, agentId: second });
    expect(participant.agentId).toBe(second);
  });
});
