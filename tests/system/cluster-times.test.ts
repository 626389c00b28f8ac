import type { ParticipantSummary } from "@roomhub/protocol";
import { createMemoryCluster } from "@roomhub/hub";
import { describe, expect, test } from "vitest";
import { joinDirect } from "../support/hub/joining.ts";
import { createManualTime, type ManualTime, QUICK_SWEEP } from "../support/hub/manual-time.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { until } from "../support/waiting.ts";

const secret = Buffer.alloc(32, "cluster");

type MemoryDirectory = ReturnType<ReturnType<typeof createMemoryCluster>["directory"]>;

interface Lab {
  owner: TestHub & { directory: MemoryDirectory };
  /** its clock is moved by hand */
  other: TestHub & { directory: MemoryDirectory; time: ManualTime };
  code: string;
  /** From now on the other hub learns nothing of participants until the result is called. */
  holdEntries(): () => void;
}

/** Two hubs that have links to each other, and a room. */
async function startLab(stack: AsyncDisposableStack): Promise<Lab> {
  const shared = createMemoryCluster();
  const directory = shared.directory();
  const owner = stack.use(await startTestHub({ cluster: { directory, secret } }));
  const time = createManualTime();
  const startedMs = time.source.wallMs();
  const nowMs = () => time.source.wallMs() - startedMs;
  const { directory: late, holdEntries } = withEntriesHeld(shared.directory({ nowMs }));
  const other = stack.use(
    await startTestHub({
      ...{ cluster: { directory: late, secret }, time: time.source },
      limits: { ...QUICK_SWEEP },
    }),
  );
  const code = await owner.createRoom();
  for (const hub of [owner, other]) {
    const links = async () => (await hub.client.listHubs()).map(({ link }) => link);
    await until("the links", links, (seen) => seen.join() === "self,open");
  }
  return {
    owner: Object.assign(owner, { directory }),
    other: Object.assign(other, { directory: late, time }),
    ...{ code, holdEntries },
  };
}

function withEntriesHeld(directory: MemoryDirectory) {
  let held: (() => void)[] | undefined;
  const open = directory.open.bind(directory);
  directory.open = (listener) =>
    open({
      ...listener,
      participantChanged: (...change) => {
        if (held === undefined) listener.participantChanged(...change);
        else held.push(() => listener.participantChanged(...change));
      },
    });
  const holdEntries = () => {
    held = [];
    return () => {
      const due = held ?? [];
      held = undefined;
      for (const report of due) report();
    };
  };
  return { directory, holdEntries };
}

function join({ owner, code }: Lab, id: string) {
  return joinDirect(owner, code, { id, nickname: id, endpoint: "http://127.0.0.1:1" });
}

function listed({ other, code }: Lab, id: string): Promise<ParticipantSummary[]> {
  const list = () => other.client.listParticipants(code);
  return until(`${id} in the list`, list, (all) => all.some((one) => one.id === id));
}

/** Resolves once the events of the one hub reach the watchers at the other. */
async function untilHeard(lab: Lab, isHeard: () => boolean): Promise<void> {
  for (let n = 0; !isHeard(); n++) {
    await join(lab, `early${n}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("an event whose entry does not come", () => {
  test("is held for a second at the other hub, and then shown", async () => {
    await using stack = new AsyncDisposableStack();
    const lab = await startLab(stack);
    const events = await lab.other.watch(lab.code);
    await untilHeard(lab, () => events.of("participant.joined").length > 0);
    const of = (id: string) =>
      events.of("participant.joined").filter(({ data }) => JSON.stringify(data).includes(id));
    const release = lab.holdEntries();
    await join(lab, "ada");
    await lab.other.time.advance(500);
    expect(of("ada")).toEqual([]);
    await lab.other.time.advance(600);
    await events.waitFor("the event", () => of("ada").length === 1);
    release();
    await listed(lab, "ada");
    expect(of("ada")).toHaveLength(1);
  });
});

describe("a hub of which nothing is heard", () => {
  test("is dead after 10 s: its participants lose their connection once, and are offline 30 s later", async () => {
    await using stack = new AsyncDisposableStack();
    const lab = await startLab(stack);
    await join(lab, "ada");
    await listed(lab, "ada");
    const events = await lab.other.watch(lab.code);
    await dieSilently(lab);
    await lab.other.time.advance(10_000);
    expect(events.of("participant.updated")).toEqual([]);
    await lab.other.time.advance(1_000);
    await events.waitFor("the loss", () => events.of("participant.updated").length > 0);
    expect((await lab.other.client.listParticipants(lab.code))[0]).toMatchObject({
      status: "online",
      connection: { connected: false },
    });
    await lab.other.time.advance(28_500);
    expect(events.of("participant.offline")).toEqual([]);
    await lab.other.time.advance(2_000);
    await events.waitFor("the end", () => events.of("participant.offline").length > 0);
    expect(events.of("participant.updated")).toHaveLength(1);
    expect(events.of("participant.left")).toEqual([]);
    const beat = await lab.other.fetch(`/rooms/${lab.code}/health`, { json: { id: "ada" } });
    expect(beat.status).toBe(404);
  });

  test("is not dead before the other hub has heard the directory for 10 s, after that was away", async () => {
    await using stack = new AsyncDisposableStack();
    const lab = await startLab(stack);
    await join(lab, "ada");
    await listed(lab, "ada");
    const events = await lab.other.watch(lab.code);
    await dieSilently(lab);
    await lab.other.time.advance(5_000);
    lab.other.directory.cutOff();
    await lab.other.time.advance(20_000);
    lab.other.directory.heal();
    await until(
      "the directory",
      () => lab.other.directory.isUp,
      (isUp) => isUp,
    );
    await lab.other.time.advance(10_000);
    expect(events.of("participant.updated")).toEqual([]);
    await lab.other.time.advance(1_000);
    await events.waitFor("the loss", () => events.of("participant.updated").length > 0);
  });
});

/** As a hub that is killed: it says nothing more, and its links close. */
async function dieSilently({ owner, other }: Lab): Promise<void> {
  owner.directory.cutOff();
  await owner.hub.close();
  const links = async () => (await other.client.listHubs()).map(({ link }) => link);
  await until("the end of the link", links, (seen) => seen.join() === "self,down");
}
