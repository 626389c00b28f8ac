import type { Readiness, UpdateParticipantRequest } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { readinessOf } from "../domain/readiness.ts";
import { participantView } from "../domain/views.ts";
import { createOffice, elsewhere, home, peerAt, tokenOf } from "./operations.fixture.ts";
import { directReported } from "./direct-path.ts";
import { statusReported } from "./tunnel-path.ts";
import { isKnownParticipant, updateParticipant } from "./update-participant.ts";

const authHeaders = { authorization: "Bearer sk-CANARY" };

async function joined() {
  const office = createOffice();
  const outcome = await office.join({
    authHeaders,
    specs: { gpu: "4090" },
    config: { seed: 7, maxConcurrency: 2, instructions: "CANARY" },
    capabilities: { chatCompletions: "supported" },
  });
  office.events.splice(0);
  office.probes.splice(0);
  const put = (request: UpdateParticipantRequest, peer = peerAt(home)) =>
    updateParticipant(office.context, office.room, "ada", request, peer);
  return { ...office, participant: outcome.participant, put, outcome };
}

test("whether an id is known decides between a change and a join", async () => {
  const { context, room } = await joined();
  expect(isKnownParticipant(context, room, "ada")).toBe(true);
  expect(isKnownParticipant(context, room, "bob")).toBe(false);
  expect(() => isKnownParticipant(context, "ZZZZZZ", "ada")).toThrow(/no room/);
});

describe("a change", () => {
  test("of one field changes that field, with one update and nothing dialled", async () => {
    const { put, participant, seen, probes } = await joined();
    const before = participantView(participant, 0);
    await put({ nickname: "Countess" });
    expect(participantView(participant, 0)).toEqual({ ...before, nickname: "Countess" });
    expect(seen()).toEqual(["participant.updated ada"]);
    expect(probes).toEqual([]);
  });

  test("of the endpoint leaves nothing that was measured or cached at the one before", async () => {
    const { put, participant, context, room } = await joined();
    const { warm } = context.registry.room(room).placing;
    const prompt = { session: "s", borders: [], bytes: 1_000 };
    participant.learned.pace.noteSlot(1_000);
    warm.note(participant, prompt, 1_000_000);
    await put({ nickname: "Countess" });
    expect(warm.warmBytes(prompt, 1_000_000).get(participant)).toBe(1_000);
    expect(participant.learned.pace.expectedSlotMs([0], 0, 0)).toBe(1_000);
    await put({ endpoint: "http://10.0.0.9:11434" });
    expect(warm.warmBytes(prompt, 1_000_000).size).toBe(0);
    expect(participant.learned.pace.expectedSlotMs([0], 0, 0)).toBeUndefined();
  });

  test("of nothing is an update all the same", async () => {
    const { put, participant, seen } = await joined();
    const before = participantView(participant, 0);
    await put({});
    expect(participantView(participant, 0)).toEqual(before);
    expect(seen()).toEqual(["participant.updated ada"]);
  });

  test.each([
    ["specs", { specs: {} }],
    [
      "config",
      {
        config: { hasInstructions: false },
        load: { active: 0, queued: 0, limit: 4, limitFrom: "default" },
      },
    ],
    ["capabilities", { capabilities: { openResponses: "unknown", chatCompletions: "unknown" } }],
  ])("to null clears %s", async (field, expected) => {
    const { put, participant } = await joined();
    await put({ [field]: null });
    expect(participantView(participant, 0)).toMatchObject(expected);
  });

  test("of config.responses reaches a direct endpoint", async () => {
    const { put, participant, changedSettings } = await joined();
    const { warnings } = await put({ config: { responses: "native" } });
    expect(participantView(participant, 0).config).toMatchObject({ responses: "native" });
    expect(warnings).toEqual([]);
    expect(changedSettings).toEqual(["ada"]);
    await put({ config: null });
    expect(participantView(participant, 0).config).not.toHaveProperty("responses");
  });

  test.each(["responses", "messages"] as const)(
    "of config.%s is not an agent's, which says with which line it would be",
    async (surface) => {
      const { put, participant, openTunnel } = await joined();
      participant.config = { [surface]: "translated", seed: 7 };
      openTunnel(participant);
      const { warnings } = await put({ config: { [surface]: "native", seed: 8 } });
      expect(participant.config).toEqual({ [surface]: "translated", seed: 8 });
      expect(warnings).toEqual([
        {
          code: `${surface}_not_changed`,
          message: expect.stringMatching(new RegExp(`roomhub join \\w{6} --${surface} native$`)),
        },
      ]);
      expect((await put({ config: null })).warnings).toEqual([]);
      expect(participant.config).toEqual({ [surface]: "translated" });
    },
  );

  test("mints nothing, and leaves an open tunnel and the token alone", async () => {
    const { put, participant, outcome, openTunnel, closedTunnels } = await joined();
    openTunnel(participant);
    const result = await put({ endpoint: "http://10.9.9.9/v1", model: "qwen" });
    expect(result).not.toHaveProperty("token");
    expect([participant.paths.tunnel.kind, closedTunnels]).toEqual(["open", []]);
    await expect(put({}, peerAt(elsewhere, { token: tokenOf(outcome) }))).resolves.toBeDefined();
  });

  test("is no sign of life", async () => {
    const { put, participant, pass } = await joined();
    pass(31_000);
    await put({ nickname: "x" });
    expect(participant.presence.status).toBe("offline");
    const { lastSeenMs } = participant.presence;
    pass(1_000);
    await put({ nickname: "y" });
    expect(participant.presence.lastSeenMs).toBe(lastSeenMs);
  });

  test("of the limit lets waiting requests look again", async () => {
    const { put, participant, woken, room } = await joined();
    woken.splice(0);
    await put({ config: { maxConcurrency: 5 } });
    expect(participant.load.limit).toBe(5);
    expect(woken).toContain(room);
  });

  test("of the model to another's id is warned of", async () => {
    const { put, join } = await joined();
    await join({ id: "bob", model: "x" });
    const { warnings } = await put({ model: "bob" });
    expect(warnings).toMatchObject([{ code: "participant_id_conflicts" }]);
  });

  test("of the model to another's id with a :latest tag is warned of, too", async () => {
    const { put, join } = await joined();
    await join({ id: "bob", model: "x" });
    const { warnings } = await put({ model: "bob:latest" });
    expect(warnings).toMatchObject([{ code: "participant_id_conflicts" }]);
  });

  test("of an unknown id is 404", async () => {
    const { context, room } = await joined();
    await expect(updateParticipant(context, room, "ghost", {}, peerAt(home))).rejects.toMatchObject(
      {
        code: "participant_not_found",
      },
    );
  });
});

describe("a change of the endpoint", () => {
  test("is dialled anew, and its warning has the result", async () => {
    const { put, participant, probes, behaviour } = await joined();
    behaviour.endpoint = "fails";
    const { warnings } = await put({ endpoint: "http://10.0.0.8:1234" });
    expect(participant).toMatchObject({
      endpoint: "http://10.0.0.8:1234",
      baseUrl: "http://10.0.0.8:1234/v1",
      paths: { direct: { kind: "failed" } },
    });
    expect(probes).toEqual(["ada"]);
    expect(warnings).toMatchObject([{ code: "endpoint_unreachable" }]);
  });

  test("to another origin drops the secrets unless they are sent again", async () => {
    const first = await joined();
    await first.put({ endpoint: "http://10.0.0.7:11434/other" });
    expect(first.headersOf(first.participant)).toEqual(authHeaders);
    await first.put({ endpoint: "http://evil.example/v1" });
    expect(first.headersOf(first.participant)).toEqual({});
    await first.put({ endpoint: "http://10.0.0.7:11434" });
    expect(first.headersOf(first.participant), "they do not come back either").toEqual({});
    const second = await joined();
    await second.put({ endpoint: "http://other.example", authHeaders: { "x-key": "new" } });
    expect(second.headersOf(second.participant)).toEqual({ "x-key": "new" });
  });

  test("reaches as far as its sender: a web page gets no nearer than the internet", async () => {
    const { put, participant, outcome } = await joined();
    const page = peerAt(home, { hasOrigin: true, token: tokenOf(outcome) });
    await put({ endpoint: "http://127.0.0.1:22" }, page);
    expect(participant.registrant).toMatchObject({ address: home, hasOrigin: true });
  });

  test("with the token from a new address moves the right to that address", async () => {
    const { put, participant, outcome } = await joined();
    await put({ nickname: "x" }, peerAt(elsewhere, { token: tokenOf(outcome) }));
    expect(participant.registrant.address).toBe(home);
    await put({ endpoint: "http://10.0.0.9" }, peerAt(elsewhere, { token: tokenOf(outcome) }));
    expect(participant.registrant.address).toBe(elsewhere);
    await expect(put({}, peerAt(home))).rejects.toMatchObject({
      code: "participant_token_required",
    });
  });

  test.each(["ftp://x", "http://u:p@x", "http://x?key=1", "nonsense"])(
    "to %s is refused and changes nothing",
    async (endpoint) => {
      const { put, participant, seen } = await joined();
      const before = participantView(participant, 0);
      await expect(put({ nickname: "changed", endpoint })).rejects.toMatchObject({
        code: "invalid_endpoint",
        param: "endpoint",
      });
      expect(participantView(participant, 0)).toEqual(before);
      expect(seen()).toEqual([]);
    },
  );
});

describe("a change of secrets alone", () => {
  test.each([
    ["replaces", { a: "b" }, { a: "b" }],
    ["clears by null", null, {}],
  ])("%s them", async (_what, given, expected) => {
    const { put, participant, headersOf, probes } = await joined();
    await put({ authHeaders: given });
    expect(headersOf(participant)).toEqual(expected);
    expect(probes).toEqual([]);
  });
});

describe("what a model server refused", () => {
  /** Its endpoint responds with this verdict, and did so last. */
  async function found(readiness: Readiness) {
    const all = await joined();
    const verdict = { readiness, problem: "", sinceMs: all.context.nowMs() };
    directReported(all.context, all.participant, {
      kind: "responded",
      verdict: verdict,
      isLife: false,
    });
    all.events.splice(0);
    return all;
  }

  test.each<[Readiness, UpdateParticipantRequest]>([
    ["needs-credentials", { authHeaders: { a: "b" } }],
    ["wrong-model", { model: "qwen" }],
  ])("because it %s is probed again after %j", async (readiness, request) => {
    const { put, participant, probes, renewals } = await found(readiness);
    await put(request);
    expect(probes).toEqual(["ada"]);
    expect(readinessOf(participant)).toBe("ready");
    expect(renewals).toEqual([
      ["ada", { credentials: "authHeaders" in request, model: "model" in request }],
    ]);
  });

  test("is not probed again after a change of anything else", async () => {
    const { put, participant, probes } = await found("needs-credentials");
    await put({ nickname: "Countess" });
    expect(probes).toEqual([]);
    expect(readinessOf(participant)).toBe("needs-credentials");
  });

  test("with its old credentials through a tunnel is tried at once with the new", async () => {
    const { put, participant, context, openTunnel } = await joined();
    openTunnel(participant);
    statusReported(context, participant, { ready: false, readiness: "needs-credentials" });
    participant.learned.credentials.haveWorked = true;
    expect(participant.learned.credentials.trial?.dueMs).toBe(context.nowMs() + 5_000);
    await put({ authHeaders: { a: "b" } });
    expect(participant.learned.credentials).toMatchObject({
      haveWorked: false,
      trial: { dueMs: context.nowMs() },
    });
  });
});

test("a change to tunnel-only is never dialled again", async () => {
  const { put, participant, probes } = await joined();
  await put({ transport: "tunnel" });
  expect([participant.paths.direct.kind, probes]).toEqual(["refused", []]);
});
