import type { ParticipantSummary } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { participantView } from "../domain/views.ts";
import { createOffice, elsewhere, home, peerAt, tokenOf } from "./operations.fixture.ts";
import {
  expireParticipants,
  getModel,
  getParticipant,
  leaveParticipant,
  listModels,
  listParticipants,
  recordHeartbeat,
} from "./participants.ts";
import { announceLoadedModels } from "./learned.ts";
import { directReported } from "./direct-path.ts";
import { tunnelReported, statusReported, tunnelClosed } from "./tunnel-path.ts";

type Office = ReturnType<typeof createOffice>;

const beat = ({ context, room }: Office, id = "ada") =>
  recordHeartbeat(context, room, id, peerAt(elsewhere));

describe("a heartbeat", () => {
  test("keeps a participant online, says when it was heard, and is no event", async () => {
    const office = createOffice();
    await office.join();
    office.seen();
    for (let time = 0; time < 6; time++) {
      office.pass(30_000);
      expect(beat(office)).toEqual({
        success: true,
        status: "online",
        lastSeen: office.context.wallMs(),
      });
    }
    expect(office.seen()).toEqual([]);
  });

  test("30 s and a ms late finds it offline, and brings it back with exactly one update", async () => {
    const office = createOffice();
    const { participant } = await office.join();
    office.seen();
    office.pass(30_000);
    expect(participant.presence.status).toBe("online");
    office.pass(250);
    office.pass(60_000);
    expect(participant.presence.status).toBe("offline");
    expect(office.seen()).toEqual(["participant.offline ada"]);
    expect(office.woken.at(-1)).toBe(office.room);
    office.behaviour.endpoint = "hangs";
    expect(beat(office).status).toBe("online");
    beat(office);
    expect(office.events[0]?.shown).toMatchObject({ status: "online" });
    expect(office.seen()).toEqual(["participant.updated ada"]);
  });

  test("of an unknown id is 404, so that its sender joins again", () => {
    expect(() => beat(createOffice(), "ghost")).toThrow(
      expect.objectContaining({ code: "participant_not_found", status: 404 }),
    );
  });

  test("probes the endpoint again only when its last response is over 60 s old, or it failed", async () => {
    const office = createOffice();
    const { participant } = await office.join();
    const probed = () => office.probes.splice(0).length;
    probed();
    for (const [ms, expected] of [
      [20_000, 0],
      [20_000, 0],
      [20_000, 0],
      [1, 1],
      [20_000, 0],
    ] as const) {
      office.pass(ms);
      beat(office);
      expect(probed()).toBe(expected);
    }
    directReported(office.context, participant, { kind: "failed", reason: "ECONNREFUSED" });
    beat(office);
    expect([probed(), participant.paths.direct.kind]).toEqual([1, "answered"]);
  });

  test("probes an endpoint that never responded, however young the hub is", async () => {
    const office = createOffice();
    office.behaviour.endpoint = "hangs";
    await office.join();
    beat(office);
    expect(office.probes).toHaveLength(2);
  });

  test("never probes an endpoint that may not be dialled, or while a tunnel is open", async () => {
    const office = createOffice();
    const { participant } = await office.join({ transport: "tunnel" });
    office.pass(20_000);
    beat(office);
    participant.isTunnelOnly = false;
    participant.paths.direct = { kind: "failed", reason: "" };
    office.openTunnel(participant);
    beat(office);
    expect(office.probes).toEqual([]);
  });
});

describe("leaving", () => {
  test("takes a participant out with its tunnel and its secrets, and frees its id", async () => {
    const office = createOffice();
    const { participant } = await office.join({ authHeaders: { authorization: "Bearer CANARY" } });
    office.openTunnel(participant);
    office.seen();
    await leaveParticipant(office.context, office.room, "ada", peerAt(home));
    expect(office.closedTunnels).toEqual([["ada", "left"]]);
    expect(office.headersOf(participant)).toEqual({});
    expect(office.events[0]?.shown).toEqual({ participantId: "ada", nickname: "Ada" });
    expect(office.seen()).toEqual(["participant.left ada"]);
    expect(listParticipants(office.context, office.room)).toEqual([]);
    office.pass(40_000);
    expect(office.seen()).toEqual([]);
    const again = leaveParticipant(office.context, office.room, "ada", peerAt(home));
    await expect(again).rejects.toMatchObject({ code: "participant_not_found" });
    await expect(office.join({}, peerAt(elsewhere))).resolves.toMatchObject({ isNew: true });
  });
});

describe("expiry", () => {
  test("removes a participant that was offline and disconnected for 24 h, and says that it expired", async () => {
    const office = createOffice();
    const { participant } = await office.join({ id: "gone" });
    expect(participant.paths.direct.kind, "an old response keeps no participant").toBe("answered");
    const kept = await office.join({ id: "tunnelled" });
    office.openTunnel(kept.participant);
    office.pass(24 * 3_600_000);
    expireParticipants(office.context);
    expect(office.context.registry.participantCount).toBe(2);
    office.seen();
    office.pass(1);
    expireParticipants(office.context);
    expect(office.events[0]?.shown).toMatchObject({ participantId: "gone", reason: "expired" });
    expect(office.seen()).toEqual(["participant.left gone"]);
    expect([...office.context.registry.participants()].map((one) => one.id)).toEqual(["tunnelled"]);
  });
});

describe("paths", () => {
  const changes = (office: Office) =>
    office.events
      .splice(0)
      .map(({ name, shown }) => [
        name,
        (shown as { connection?: { connected: boolean } }).connection?.connected,
      ]);

  test("opening and closing a tunnel is one update each, and keeps the time of the last contact", async () => {
    const office = createOffice();
    const { participant } = await office.join({ transport: "tunnel" });
    office.events.splice(0);
    office.openTunnel(participant);
    expect(changes(office)).toEqual([["participant.updated", true]]);
    const { lastContactAt } = participant.paths;
    office.pass(5_000);
    tunnelClosed(office.context, participant);
    expect(changes(office)).toEqual([["participant.updated", false]]);
    expect(participant.paths.lastContactAt).toBe(lastContactAt);
  });

  test("a tunnel of an offline participant brings it back with one update", async () => {
    const office = createOffice();
    const { participant } = await office.join({ transport: "tunnel" });
    office.pass(31_000);
    office.events.splice(0);
    office.openTunnel(participant);
    expect(participant.presence.status).toBe("online");
    expect(changes(office)).toEqual([["participant.updated", true]]);
  });

  test("any frame is a sign of life; a direct response is not", async () => {
    const office = createOffice();
    const tunnelled = await office.join({ id: "tunnelled" });
    office.openTunnel(tunnelled.participant);
    const { participant } = await office.join({ id: "direct" });
    for (let time = 0; time < 3; time++) {
      office.pass(20_000);
      tunnelReported(office.context, tunnelled.participant, { kind: "alive" });
      directReported(office.context, participant, {
        kind: "responded",
        verdict: office.behaviour.verdict,
        isLife: false,
      });
    }
    expect([tunnelled.participant.presence.status, participant.presence.status]).toEqual([
      "online",
      "offline",
    ]);
  });

  test("a direct path that fails and recovers is announced once each", async () => {
    const office = createOffice();
    const { participant } = await office.join();
    office.events.splice(0);
    directReported(office.context, participant, { kind: "failed", reason: "one" });
    directReported(office.context, participant, { kind: "failed", reason: "two" });
    directReported(office.context, participant, {
      kind: "responded",
      verdict: office.behaviour.verdict,
      isLife: false,
    });
    directReported(office.context, participant, {
      kind: "responded",
      verdict: office.behaviour.verdict,
      isLife: false,
    });
    expect(changes(office)).toEqual([
      ["participant.updated", false],
      ["participant.updated", true],
    ]);
  });

  test("each change of what a direct endpoint is known to be is one update, and a request may wait for it", async () => {
    const office = createOffice();
    const { participant } = await office.join();
    office.events.splice(0);
    office.woken.splice(0);
    const verdicts = ["ready", "loading", "loading", "needs-credentials", "ready"] as const;
    for (const readiness of verdicts) {
      directReported(office.context, participant, {
        kind: "responded",
        verdict: { readiness, problem: undefined, sinceMs: 0 },
        isLife: false,
      });
    }
    const seen = office.events.map(
      ({ shown }) => (shown as ParticipantSummary).connection.readiness,
    );
    expect(seen).toEqual(["loading", "needs-credentials", "ready"]);
    expect(office.woken).toHaveLength(3);
  });

  test("an endpoint that may not be dialled stays so, whatever is reported of it", async () => {
    const office = createOffice();
    const { participant } = await office.join({ transport: "tunnel" });
    directReported(office.context, participant, {
      kind: "responded",
      verdict: office.behaviour.verdict,
      isLife: false,
    });
    expect(participant.paths.direct.kind).toBe("refused");
  });

  test("what happens to a participant that was replaced is no event", async () => {
    const office = createOffice();
    const { participant } = await office.join();
    office.pass(31_000);
    await office.join({}, peerAt(elsewhere));
    office.events.splice(0);
    tunnelReported(office.context, participant, { kind: "alive" });
    directReported(office.context, participant, { kind: "failed", reason: "late" });
    tunnelClosed(office.context, participant);
    expect(office.events).toEqual([]);
    expect(participant.presence.status).toBe("offline");
  });
});

describe("a status report", () => {
  async function tunnelled() {
    const office = createOffice();
    const { participant } = await office.join();
    office.openTunnel(participant);
    office.events.splice(0);
    return { office, participant };
  }

  test("takes a participant out of routing and back, with one update each", async () => {
    const { office, participant } = await tunnelled();
    const { context } = office;
    for (const ready of [true, false, false, true]) {
      statusReported(context, participant, { ready, reason: ready ? "" : "no Ollama" });
    }
    expect(office.seen()).toEqual(["participant.updated ada", "participant.updated ada"]);
    expect(office.woken.length).toBeGreaterThan(2);
  });

  test.each([
    [{ ready: true }, "ready"],
    [{ ready: false }, "down"],
    [{ ready: true, readiness: "ready" }, "ready"],
    [{ ready: false, readiness: "loading" }, "loading"],
    [{ ready: false, readiness: "needs-credentials" }, "needs-credentials"],
    [{ ready: false, readiness: "wrong-model" }, "wrong-model"],
    [{ ready: false, readiness: "ready" }, "down"],
    [{ ready: true, readiness: "loading" }, "loading"],
    [{ ready: false, readiness: "on fire" }, "down"],
  ])("of %j lists the participant as %s", async (status, readiness) => {
    const { office, participant } = await tunnelled();
    statusReported(office.context, participant, status);
    expect(participantView(participant, 0).connection.readiness).toBe(readiness);
  });

  test("teaches capabilities, of a known form and a bounded number", async () => {
    const { office, participant } = await tunnelled();
    const many = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`c${index}`, "supported"]),
    );
    statusReported(office.context, participant, {
      ready: true,
      capabilities: {
        openResponses: "supported",
        "bad name": "supported",
        __proto__: "supported",
        embeddings: "maybe",
        ...many,
      },
    });
    expect(participant.learned.capabilities).toMatchObject({
      openResponses: "supported",
      c0: "supported",
    });
    expect(participant.learned.capabilities).not.toHaveProperty("bad name");
    expect(participant.learned.capabilities).not.toHaveProperty("embeddings");
    expect(Object.keys(participant.learned.capabilities)).toHaveLength(64);
    statusReported(office.context, participant, {
      ready: true,
      capabilities: { chatCompletions: "unsupported" },
    });
    expect(participant.learned.capabilities.chatCompletions).toBe("unsupported");
  });

  test("does not overrule what was declared, but for unknown, and what is declared later wins again", async () => {
    const office = createOffice();
    const capabilities = { chatCompletions: "supported", openResponses: "unknown" } as const;
    const { participant } = await office.join({ capabilities });
    office.openTunnel(participant);
    const learned = { chatCompletions: "unsupported", openResponses: "unsupported" };
    statusReported(office.context, participant, { ready: true, capabilities: learned });
    expect(participant.learned.capabilities).toEqual({
      chatCompletions: "supported",
      openResponses: "unsupported",
    });
    await office.join({ capabilities: { openResponses: "supported" } });
    expect(participant.learned.capabilities).toEqual({
      chatCompletions: "unsupported",
      openResponses: "supported",
    });
  });

  test("sets the limit of a participant that declares none, with one update", async () => {
    const { office, participant } = await tunnelled();
    office.seen();
    const load = () => participantView(participant, 0).load;
    expect(load()).toEqual({ active: 0, queued: 0, limit: 4, limitFrom: "default" });
    statusReported(office.context, participant, { ready: true, limit: 2, limitFrom: "engine" });
    expect(load()).toEqual({ active: 0, queued: 0, limit: 2, limitFrom: "engine" });
    expect(office.seen()).toEqual(["participant.updated ada"]);
    statusReported(office.context, participant, { ready: true, limit: 2, elsewhere: 1 });
    expect(load()).toMatchObject({ limit: 2, limitFrom: "engine", elsewhere: 1 });
    expect(office.seen()).toEqual([]);
    statusReported(office.context, participant, { ready: true, limit: 9, limitFrom: "learned" });
    expect(load()).toEqual({ active: 0, queued: 0, limit: 9, limitFrom: "learned" });
    statusReported(office.context, participant, { ready: true });
    expect(load()).toMatchObject({ limit: 4, limitFrom: "default" });
  });

  test("has the loaded models, which are listed and announced at most once in 5 s", async () => {
    const { office, participant } = await tunnelled();
    office.seen();
    const listed = () => participantView(participant, 0).loadedModels;
    const report = (...loaded: string[]) =>
      statusReported(office.context, participant, { ready: true, loaded });
    expect(listed()).toBeUndefined();
    report();
    expect(listed()).toEqual([]);
    expect(office.seen()).toEqual(["participant.updated ada"]);
    report("llama3");
    expect(listed()).toEqual(["llama3"]);
    office.pass(4_999);
    announceLoadedModels(office.context);
    expect(office.seen()).toEqual([]);
    office.pass(1);
    announceLoadedModels(office.context);
    expect(office.seen()).toEqual(["participant.updated ada"]);
    office.pass(60_000);
    report("llama3");
    report("qwen3");
    expect(office.seen().filter((event) => event.includes("updated"))).toHaveLength(1);
    report("llama3");
    report("qwen3");
    office.pass(5_000);
    announceLoadedModels(office.context);
    expect(office.seen().filter((event) => event.includes("updated"))).toEqual([]);
  });

  test("announces another limit and other loaded models together", async () => {
    const { office, participant } = await tunnelled();
    office.seen();
    statusReported(office.context, participant, { ready: true, limit: 1, loaded: ["llama3"] });
    office.pass(5_000);
    announceLoadedModels(office.context);
    expect(office.seen()).toEqual(["participant.updated ada"]);
  });

  test("does not raise a limit over what was declared, nor over the hub's own", async () => {
    const office = createOffice();
    const { participant } = await office.join({ config: { maxConcurrency: 3 } });
    office.openTunnel(participant);
    statusReported(office.context, participant, { ready: true, limit: 8 });
    expect(participantView(participant, 0).load).toMatchObject({ limit: 3, limitFrom: "declared" });
    await office.join({ config: null });
    expect(participantView(participant, 0).load).toMatchObject({ limit: 8, limitFrom: "engine" });
    office.openTunnel(participant);
    statusReported(office.context, participant, { ready: true, limit: 60_000 });
    expect(participantView(participant, 0).load).toMatchObject({ limit: 256, limitFrom: "engine" });
  });

  test("counts more than what the hub read itself", async () => {
    const { office, participant } = await tunnelled();
    directReported(office.context, participant, { kind: "loaded", models: ["qwen3"] });
    expect(participant.learned.loadedModels).toBeUndefined();
    const own = { slots: 2, elsewhere: 0 };
    directReported(office.context, participant, { kind: "load", load: own });
    expect(participant.load.limit).toBe(4);
    tunnelClosed(office.context, participant);
    directReported(office.context, participant, { kind: "load", load: own });
    expect(participant.load.limit).toBe(2);
  });

  test("counts only while a tunnel is open, and its reason is cut short", async () => {
    const { office, participant } = await tunnelled();
    statusReported(office.context, participant, { ready: false, reason: "x".repeat(999) });
    expect(participant.paths.tunnel).toEqual({
      kind: "open",
      readiness: "down",
      problem: "x".repeat(200),
      sinceMs: office.context.nowMs(),
    });
    tunnelClosed(office.context, participant);
    statusReported(office.context, participant, { ready: true });
    expect(participant.paths.tunnel).toEqual({ kind: "closed" });
  });
});

describe("what the hub learns of a direct endpoint", () => {
  const known = { openResponses: "unsupported", embeddings: "supported" };

  test("is announced once, and goes with the endpoint", async () => {
    const office = createOffice();
    const { participant } = await office.join();
    office.events.splice(0);
    directReported(office.context, participant, { kind: "capabilities", capabilities: known });
    directReported(office.context, participant, { kind: "capabilities", capabilities: known });
    expect(office.seen()).toEqual(["participant.updated ada"]);
    await office.join();
    expect(participant.learned.capabilities).toMatchObject(known);
    await office.join({ endpoint: "http://10.0.0.8:11434" });
    expect(participant.learned.capabilities).toEqual({
      openResponses: "unknown",
      chatCompletions: "unknown",
    });
  });
});

describe("lists", () => {
  async function filled() {
    const office = createOffice();
    const ids = ["gone", "b", "a"];
    const [, b] = await Promise.all(ids.map((id) => office.join({ id })));
    office.pass(20_000);
    for (const id of ["a", "b"]) beat(office, id);
    office.pass(11_000);
    directReported(office.context, b!.participant, { kind: "failed", reason: "ECONNREFUSED" });
    return office;
  }

  test("show every participant in join order, offline ones too", async () => {
    const { context, room } = await filled();
    const list = listParticipants(context, room);
    expect(list.map(({ id, status }) => [id, status])).toEqual([
      ["gone", "offline"],
      ["b", "online"],
      ["a", "online"],
    ]);
    expect(getParticipant(context, room.toLowerCase(), "b")).toEqual(list[1]);
    expect(() => getParticipant(context, room, "ghost")).toThrow(/no participant "ghost"/);
  });

  test("have a stand-in last as long as another is there", async () => {
    const office = createOffice();
    await office.join({ id: "demo", standIn: true });
    const { participant } = await office.join({ id: "real" });
    const ids = () => listParticipants(office.context, office.room).map(({ id }) => id);
    expect(ids()).toEqual(["real", "demo"]);
    directReported(office.context, participant, { kind: "failed", reason: "ECONNREFUSED" });
    expect(ids()).toEqual(["demo", "real"]);
  });

  test("of models show the participants online, routable ones first", async () => {
    const { context, room } = await filled();
    const models = listModels(context, room, "openai");
    expect(models).toHaveProperty("object", "list");
    expect(models.data.map(({ id }) => id)).toEqual(["a", "b"]);
  });

  test.each([
    ["a", "a"],
    ["llama3", "a"],
    ["llama3:latest", "a"],
    ["model:llama3", "a"],
    ["*", "a"],
  ])("one model by %s is the participant that would get a request now", async (name, id) => {
    const { context, room } = await filled();
    expect(getModel(context, room, name, "openai").id).toBe(id);
  });

  test("one model whose participant is full is still shown", async () => {
    const office = createOffice();
    const { participant } = await office.join();
    participant.load.active = participant.load.limit;
    expect(getModel(office.context, office.room, "ada", "openai").id).toBe("ada");
  });

  test.each([
    ["gone", "participant_offline", 503],
    ["gpt-4", "model_not_found", 404],
  ])("one model %s is %s", async (name, code, status) => {
    const { context, room } = await filled();
    expect(() => getModel(context, room, name, "openai")).toThrow(
      expect.objectContaining({ code, status }),
    );
  });
});

test("the token is shown to its owner only", async () => {
  const office = createOffice();
  const outcome = await office.join();
  const shown = JSON.stringify([listParticipants(office.context, office.room), office.events]);
  expect(shown).not.toContain(tokenOf(outcome));
  expect(shown).not.toContain("rhp_");
});
