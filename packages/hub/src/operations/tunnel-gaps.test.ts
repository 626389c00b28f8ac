import { describe, expect, test } from "vitest";
import { explainRoute } from "./explain-route.ts";
import { recordHeartbeat, viewOf } from "./participants.ts";
import { createOffice, elsewhere, home, peerAt } from "./operations.fixture.ts";
import {
  directResponded,
  loadedModelsRead,
  loadReported,
  recordTunnelContact,
  statusReported,
  tunnelClosed,
  tunnelOpened,
} from "./path-changes.ts";
import { admitResume, tunnelResumed, tunnelSuspended } from "./tunnel-gaps.ts";

/** Ada's tunnel is open; her endpoint responded before that. */
async function openOffice(options: Parameters<typeof createOffice>[0] = {}) {
  const office = createOffice(options);
  const { participant } = await office.join();
  office.openTunnel(participant);
  office.pass(1_000);
  office.seen();
  const { context } = office;
  return {
    ...office,
    participant,
    lose: (streams = 2) => tunnelSuspended(context, participant, streams),
    resume: () => tunnelResumed(context, participant),
    connection: () => viewOf(context, participant).connection,
  };
}

const updated = "participant.updated ada";

describe("a tunnel that lost its connection while streams run", () => {
  test("is shown with one update, as a path that is neither connected nor given up", async () => {
    const { lose, seen, pass, connection, events } = await openOffice();
    lose();
    expect(events[0]?.shown).toMatchObject({
      connection: { connected: false, path: "tunnel", resuming: { streams: 2, sinceMs: 0 } },
    });
    expect(seen()).toEqual([updated]);
    pass(3_400);
    expect(connection()).toMatchObject({
      kind: "tunnel",
      connected: false,
      path: "tunnel",
      readiness: "loading",
      resuming: { streams: 2, sinceMs: 3_400 },
      problem: "connection lost 3 s ago, 2 streams wait for it",
    });
    expect(seen()).toEqual([]);
  });

  test("lets requests wait for it, and does not use its endpoint, which may be dialled", async () => {
    const { context, room, participant, lose, pass, connection, probes } = await openOffice();
    lose(1);
    pass(2_000);
    const question = { model: "ada", protocol: "chatCompletions", promptBytes: 0, waiting: 0 };
    const route = explainRoute(context, room, { ...question, protocol: "chatCompletions" });
    expect([route.outcome, route.participants[0]?.reason]).toEqual([
      "waits",
      "connection lost 2 s ago, 1 stream waits for it; a request waits until it is ready",
    ]);
    const before = probes.length;
    pass(1_000);
    recordHeartbeat(context, room, "ada", peerAt(home));
    expect(probes.length).toBe(before);
    const verdict = { readiness: "ready", problem: "", sinceMs: 0 } as const;
    directResponded(context, participant, verdict);
    expect(connection()).toMatchObject({ connected: false, path: "tunnel", readiness: "loading" });
  });

  test("keeps what its agent reported, whatever the hub reads at its endpoint", async () => {
    const { context, participant, lose, seen } = await openOffice();
    statusReported(context, participant, { ready: true, limit: 3, loaded: ["llama3"] });
    lose();
    seen();
    loadReported(context, participant, { limit: 9, limitFrom: "engine", elsewhere: 0 });
    loadedModelsRead(context, participant, ["qwen"]);
    expect([participant.limit, participant.loadedModels, seen()]).toEqual([3, ["llama3"], []]);
  });

  test("takes no report that is late, and is not lost twice", async () => {
    const { context, participant, lose, seen, pass, connection } = await openOffice();
    lose();
    pass(5_000);
    seen();
    statusReported(context, participant, { ready: false, reason: "late" });
    lose(7);
    expect(seen()).toEqual([]);
    expect(connection().resuming).toEqual({ streams: 2, sinceMs: 5_000 });
  });
});

describe("a tunnel that is resumed", () => {
  test("is as it was before, with one update, its budget and its rest", async () => {
    const { context, participant, lose, resume, seen, pass, connection } = await openOffice();
    statusReported(context, participant, {
      ready: false,
      readiness: "needs-credentials",
      reason: "its model server wants a key",
      budget: { tokensPerDay: 100, remainingTokens: 50 },
    });
    const { trial } = participant.credentials;
    participant.restsUntilMs = 9_000_000;
    const { tunnel } = participant;
    lose();
    expect(participant.credentials.trial).toBe(trial);
    pass(2_100);
    seen();
    resume();
    expect(seen()).toEqual([updated]);
    expect(participant.tunnel).toEqual(tunnel);
    expect(participant).toMatchObject({
      budget: { remainingTokens: 50 },
      restsUntilMs: 9_000_000,
      lastSeenMs: context.nowMs(),
    });
    expect(participant.credentials.trial).toBe(trial);
    expect(connection()).not.toHaveProperty("resuming");
    expect(connection()).toMatchObject({ connected: true, path: "tunnel" });
  });

  test("takes what its agent reports of itself into the same update", async () => {
    const { context, participant, lose, seen, woken } = await openOffice();
    lose();
    seen();
    woken.splice(0);
    tunnelResumed(context, participant, {
      ready: true,
      limit: 3,
      loaded: ["llama3"],
      capabilities: { vision: "supported" },
      budget: { tokensPerDay: 10, remainingTokens: 10 },
    });
    expect(seen()).toEqual([updated]);
    expect(woken).not.toEqual([]);
    expect(participant).toMatchObject({
      limit: 3,
      loadedModels: ["llama3"],
      capabilities: { vision: "supported" },
    });
  });

  test("does nothing to a tunnel that is open, or closed meanwhile", async () => {
    const { context, participant, lose, resume, seen } = await openOffice();
    resume();
    expect(seen()).toEqual([]);
    lose();
    tunnelClosed(context, participant);
    seen();
    resume();
    expect([participant.tunnel.kind, seen()]).toEqual(["closed", []]);
  });

  test("may be so 60 times within a minute, and a new session anew", async () => {
    const { context, participant, pass } = await openOffice();
    const session = {};
    const admit = (one: object) => admitResume(context, participant, one);
    for (let count = 0; count < 60; count++) admit(session);
    expect(() => admit(session)).toThrow(
      expect.objectContaining({ code: "tunnel_flapping", retryAfterMs: 1_000 }) as Error,
    );
    expect(() => admit({})).not.toThrow();
    pass(60_000);
    expect(() => admit(session)).not.toThrow();
  });
});

describe("a tunnel that does not come back in time", () => {
  test("closes with one update, and its endpoint is used again", async () => {
    const { context, participant, lose, seen, connection } = await openOffice();
    participant.budget = { tokensPerDay: 1, remainingTokens: 1 };
    lose();
    seen();
    tunnelClosed(context, participant);
    expect(seen()).toEqual([updated]);
    expect(connection()).toMatchObject({ connected: true, path: "direct", readiness: "ready" });
    expect(participant.budget).toBeUndefined();
  });

  test("gives way to a new tunnel with one update", async () => {
    const { context, participant, lose, seen, connection } = await openOffice();
    lose();
    seen();
    tunnelOpened(context, participant);
    expect(seen()).toEqual([updated]);
    expect(connection()).not.toHaveProperty("resuming");
  });
});

describe("silence counts from the last sign of life", () => {
  test("so that the participant is offline after 30 s of it, once, while its streams wait on", async () => {
    const { participant, lose, resume, seen, pass, connection } = await openOffice({
      limits: { resumeMs: 60_000 },
    });
    pass(9_000);
    lose();
    seen();
    // Ada's last sign of life was 10 s before.
    pass(20_000);
    expect([participant.status, seen()]).toEqual(["online", []]);
    pass(1_000);
    expect([participant.status, seen()]).toEqual(["offline", ["participant.offline ada"]]);
    expect(connection()).toMatchObject({ readiness: "down", resuming: { streams: 2 } });
    pass(10_000);
    expect(seen()).toEqual([]);
    resume();
    expect([participant.status, seen()]).toEqual(["online", [updated]]);
    expect(connection()).toMatchObject({ connected: true, readiness: "ready" });
    pass(31_000);
    expect(seen()).toEqual(["participant.offline ada"]);
  });

  test("and a frame after the resume counts as ever", async () => {
    const { context, participant, lose, resume, pass } = await openOffice();
    lose();
    resume();
    pass(20_000);
    recordTunnelContact(context, participant);
    pass(20_000);
    expect(participant.status).toBe("online");
  });
});

describe("a join in the gap", () => {
  test("without proof is refused while the participant is online, and takes its id once it is offline", async () => {
    const { participant, lose, join, pass, seen, closedTunnels, context, room } =
      await openOffice();
    lose();
    const stranger = () => join({}, peerAt(elsewhere));
    await expect(stranger()).rejects.toMatchObject({ code: "participant_id_taken" });
    pass(40_000);
    seen();
    await stranger();
    expect(seen().slice(0, 2)).toEqual(["participant.left ada", "participant.joined ada"]);
    expect(closedTunnels).toEqual([["ada", "replaced"]]);
    expect(context.registry.room(room).participants.get("ada")).not.toBe(participant);
  });

  test("with a new token closes the tunnel that waits, one with the old token leaves it", async () => {
    const { participant, lose, join, closedTunnels } = await openOffice();
    lose();
    await join({}, peerAt(home));
    expect(closedTunnels).toEqual([["ada", "replaced"]]);
    expect(participant.tunnel.kind).toBe("closed");
  });
});
