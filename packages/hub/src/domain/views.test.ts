import { ModelEntry, ParticipantSummary, type Readiness, Room } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { aParticipant, aRoom, type ParticipantFields } from "./room.fixture.ts";
import {
  anthropicModels,
  connectionView,
  modelView,
  modelViews,
  participantView,
  roomView,
} from "./views.ts";

/** Everything a participant or a room could ever carry that must not be shown. */
const secrets = {
  authHeaders: { authorization: "CANARY" },
  password: "CANARY",
  passwordDigest: "CANARY",
  participantToken: "CANARY",
  token: "CANARY",
  tokenDigest: new Uint8Array(32).fill(67),
  machineSecret: "CANARY",
  machineDigest: new Uint8Array(32).fill(67),
  key: "CANARY",
  registrant: { address: "CANARY", hasOrigin: true },
  baseUrl: "http://CANARY/v1",
  endpointOrigin: "http://CANARY",
};

function revealing() {
  const participant = aParticipant({ id: "ana", config: { instructions: "CANARY", seed: 7 } });
  return Object.assign(participant, secrets);
}

const open = (readiness: Readiness) => ({
  ...{ kind: "open" as const, readiness },
  ...{ problem: "", sinceMs: 0 },
});
const trialAt = (dueMs: number) => ({
  haveWorked: false,
  trial: { dueMs, nextDelayMs: 1 },
});

/** as a client gets it */
const sent = (view: object) => JSON.parse(JSON.stringify(view)) as object;

describe("a participant", () => {
  test("is shown by exactly the listed fields, whatever else it carries", () => {
    const view = participantView(revealing(), 0);
    expect(Object.keys(sent(view))).toEqual([
      "id",
      "nickname",
      "model",
      "endpoint",
      "status",
      "connection",
      "specs",
      "config",
      "capabilities",
      "joinedAt",
      "lastSeen",
      "load",
    ]);
    expect(JSON.stringify(view)).not.toContain("CANARY");
    expect(ParticipantSummary.strict().parse(view)).toEqual(view);
  });

  test("shows that the hub probes it, where it does", () => {
    const probed = aParticipant({ id: "a", liveness: "probe" });
    expect(participantView(probed, 0).liveness).toBe("probe");
    expect(participantView(aParticipant({ id: "a" }), 0).liveness).toBeUndefined();
  });

  test.each<[string, ParticipantFields]>([
    ["online", { tunnel: open("ready") }],
    ["online", { tunnel: open("loading") }],
    ["online", { tunnel: open("ready"), restsUntilMs: 60_000 }],
    ["online", { tunnel: open("needs-credentials"), credentials: trialAt(5_000) }],
    ["unavailable", { tunnel: open("needs-credentials"), credentials: trialAt(5_001) }],
    ["unavailable", { tunnel: open("down") }],
    ["unavailable", { tunnel: open("wrong-model") }],
    ["unavailable", { tunnel: { kind: "closed" }, direct: { ...open("down"), kind: "answered" } }],
    ["online", { tunnel: { kind: "closed" }, direct: { kind: "failed", reason: "refused" } }],
    ["online", { tunnel: { kind: "closed" }, direct: { kind: "refused", reason: "private" } }],
    ["offline", { status: "offline", tunnel: open("down") }],
  ])("has the status %s where its path is %o", (status, fields) => {
    const view = participantView(aParticipant({ id: "a", ...fields }), 5_000);
    expect(view.status).toBe(status);
    if (status === "unavailable") expect(view.connection.connected).toBe(true);
  });

  test("keeps its instructions to itself and says only whether it has any", () => {
    expect(participantView(revealing(), 0).config).toEqual({ seed: 7, hasInstructions: true });
    expect(participantView(aParticipant({ id: "a" }), 0).config).toEqual({
      hasInstructions: false,
    });
  });

  test("shows its load, and its times in epoch ms", () => {
    const view = participantView(aParticipant({ id: "a", active: 1, queued: 3, limit: 2 }), 0);
    expect(view.load).toEqual({ active: 1, queued: 3, limit: 2, limitFrom: "declared" });
    expect([view.joinedAt, view.lastSeen]).toEqual([1_700_000_000_123, 1_700_000_000_456]);
  });
});

describe("the connection block", () => {
  const open = { kind: "open", readiness: "down", problem: "", sinceMs: 0 } as const;
  const ready = { readiness: "ready", problem: "", sinceMs: 0 } as const;
  test.each([
    ["an open tunnel", { tunnel: open }, true, "tunnel"],
    [
      "a direct endpoint that responded",
      { direct: { ...ready, kind: "answered" } },
      true,
      "direct",
    ],
    ["a direct endpoint without a probe yet", { direct: { kind: "untried" } }, false, "direct"],
    ["one that failed", { direct: { kind: "failed", reason: "" } }, false, "direct"],
    ["one that may not be dialled", { direct: { kind: "refused", reason: "" } }, false, "none"],
    [
      "a tunnel whose connection is lost, before an endpoint that responded",
      {
        tunnel: { kind: "interrupted", streams: 1, sinceMs: 0, before: ready },
        direct: { ...ready, kind: "answered" },
      },
      false,
      "tunnel",
    ],
    [
      "an open tunnel before a refused endpoint",
      { tunnel: open, direct: { kind: "refused", reason: "" } },
      true,
      "tunnel",
    ],
  ] as const)("of %s", (_what, fields, connected, path) => {
    const view = connectionView(aParticipant({ id: "a", ...fields }), 0);
    expect(view).toMatchObject({ kind: "tunnel", connected, lastTunnelSeenAt: null, path });
  });

  test("says why no request is routed there, and nothing when requests may be", () => {
    const problemOf = (problem: string) => {
      const tunnel = { ...open, problem };
      const fields = { id: "a", nickname: "Ana", model: "qwen3:8b", tunnel };
      return connectionView(aParticipant(fields), 0).problem;
    };
    expect(problemOf("ECONNREFUSED")).toBe("not ready: ECONNREFUSED");
    expect(problemOf("paused")).toBe("Ana has paused sharing qwen3:8b");
    const unproblematic = aParticipant({ id: "a", tunnel: { ...ready, kind: "open" } });
    expect(connectionView(unproblematic, 0).problem).toBeUndefined();
  });

  test("keeps the time of the last contact when the path is closed", () => {
    const participant = aParticipant({ id: "a", lastContactAt: 1_700_000_000_000 });
    expect(connectionView(participant, 0).lastTunnelSeenAt).toBe("2023-11-14T22:13:20.000Z");
  });
});

describe("the models list", () => {
  test("has an entry in OpenAI's form, created in seconds, without a secret", () => {
    const view = modelView(revealing(), 0);
    expect(view).toMatchObject({
      id: "ana",
      object: "model",
      created: 1_700_000_000,
      owned_by: "nick of ana",
      name: "nick of ana (llama3)",
    });
    expect(Object.keys(sent(view.service))).toEqual([
      "nickname",
      "model",
      "endpoint",
      "capabilities",
      "connection",
      "load",
    ]);
    expect(JSON.stringify(view)).not.toContain("CANARY");
    expect(ModelEntry.strict().parse(view)).toEqual(view);
  });

  test("holds all participants online, routable ones first, otherwise in join order", () => {
    const room = aRoom(
      aParticipant({ id: "failed", direct: { kind: "failed", reason: "" } }),
      aParticipant({ id: "b" }),
      aParticipant({ id: "gone", status: "offline" }),
      aParticipant({ id: "full", active: 9 }),
      aParticipant({ id: "refused", direct: { kind: "refused", reason: "" } }),
      aParticipant({ id: "a" }),
    );
    expect(modelViews(room, 0).map((one) => one.id)).toEqual([
      "b",
      "full",
      "a",
      "failed",
      "refused",
    ]);
  });
});

test("the models list has stand-ins last as soon as another can chat, also one that is loading", () => {
  const real = aParticipant({ id: "real", status: "offline" });
  const room = aRoom(
    aParticipant({ id: "demo", isStandIn: true }),
    aParticipant({ id: "down", direct: { kind: "failed", reason: "" } }),
    real,
  );
  const ids = () => ({
    openai: modelViews(room, 0).map(({ id }) => id),
    anthropic: anthropicModels(room, 0).data.map(({ id }) => id),
  });
  expect(ids()).toEqual({ openai: ["demo", "down"], anthropic: ["demo", "down"] });
  real.presence.status = "online";
  real.paths.tunnel = { kind: "open", readiness: "loading", problem: "", sinceMs: 0 };
  const replaced = ["down", "real", "demo"];
  expect(ids()).toEqual({ openai: replaced, anthropic: replaced });
  real.learned.capabilities = { openResponses: "unknown", chatCompletions: "unsupported" };
  expect(ids().openai[0]).toBe("demo");
});

test("a room is shown by exactly the listed fields", () => {
  const room = Object.assign(aRoom(aParticipant({ id: "a" })), secrets, {
    isPasswordProtected: true,
  });
  const view = roomView(room);
  expect(view).toEqual({
    id: room.id,
    code: "ABC234",
    name: "lab",
    hostId: room.hostId,
    createdAt: 1_700_000_000_000,
    passwordProtected: true,
    participantCount: 1,
  });
  expect(Room.strict().parse(view)).toEqual(view);
});
