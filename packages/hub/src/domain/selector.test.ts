import type { Readiness } from "@roomhub/protocol";
import {
  array,
  assert,
  boolean,
  constantFrom,
  double,
  integer,
  property,
  record,
} from "fast-check";
import { describe, expect, test } from "vitest";
import { isFull } from "./slots.ts";
import type { Participant } from "./participant.ts";
import { isLoading, isRoutable } from "./readiness.ts";
import { aParticipant, aRoom, type ParticipantFields } from "./room.fixture.ts";
import {
  parseSelector,
  plainQuery,
  type Selection,
  type SelectionQuery,
} from "./selection-query.ts";
import { mayMoveElsewhere, selectByRule, selectParticipant } from "./selector.ts";

const offline = { status: "offline" } as const;
const full = { active: 2, limit: 2 };

function select(
  participants: Participant[],
  model: string,
  query: Partial<SelectionQuery> = {},
): Selection {
  return selectParticipant(aRoom(...participants), {
    ...plainQuery(parseSelector(model), "chatCompletions", () => 0),
    ...query,
  });
}

/** The id selected, or the kind or code of what happened instead. */
function outcome(selection: Selection): string {
  if (selection.kind === "selected") return selection.participant.id;
  return selection.kind === "busy" ? "busy" : selection.code;
}

function refusalsOf(selection: Selection): Record<string, string> {
  if (selection.kind !== "refused") throw new Error(`not refused but ${selection.kind}`);
  return Object.fromEntries(selection.refusals.map((one) => [one.id, one.reason]));
}

describe("the model field", () => {
  test.each([
    ["*", { kind: "any" }],
    ["any", { kind: "any" }],
    ["model:llama3", { kind: "model", model: "llama3" }],
    ["model:", { kind: "model", model: "" }],
    ["model:model:x", { kind: "model", model: "model:x" }],
    ["llama3", { kind: "name", name: "llama3" }],
    ["Any", { kind: "name", name: "Any" }],
    ["MODEL:x", { kind: "name", name: "MODEL:x" }],
    ["**", { kind: "name", name: "**" }],
  ])("%s is read as %o", (text, selector) => {
    expect(parseSelector(text)).toEqual(selector);
  });
});

describe("* and any", () => {
  test.each(["*", "any"])("%s picks uniformly among those that are routable and free", (model) => {
    const participants = [
      aParticipant({ id: "gone", ...offline }),
      aParticipant({ id: "a" }),
      aParticipant({ id: "full", ...full }),
      aParticipant({ id: "b" }),
      aParticipant({ id: "refused", direct: { kind: "refused", reason: "no" } }),
      aParticipant({ id: "c" }),
    ];
    const counts = new Map<string, number>();
    for (let step = 0; step < 300; step++) {
      const picked = outcome(select(participants, model, { random: () => step / 300 }));
      counts.set(picked, (counts.get(picked) ?? 0) + 1);
    }
    expect([...counts]).toEqual([
      ["a", 100],
      ["b", 100],
      ["c", 100],
    ]);
  });

  test("waits when all routable participants are at capacity, and names them", () => {
    const selection = select(
      [aParticipant({ id: "a", ...full }), aParticipant({ id: "b", ...offline })],
      "*",
    );
    expect(selection.kind === "busy" && selection.candidates.map((one) => one.id)).toEqual(["a"]);
  });

  test("an empty room answers 404 and says how to join", () => {
    const selection = select([], "*");
    expect(selection).toMatchObject({ kind: "refused", code: "model_not_found", refusals: [] });
    expect(selection.kind === "refused" && selection.hint).toContain("roomhub join ABC234");
  });
});

describe("a stand-in", () => {
  const standIn = () => aParticipant({ id: "demo", model: "demo", isStandIn: true });
  const everyPick = (participants: Participant[]) => {
    const picks = [0, 0.3, 0.6, 0.99].map((random) =>
      outcome(select(participants, "*", { random: () => random })),
    );
    return [...new Set(picks)];
  };

  test.each<[string, ParticipantFields, string]>([
    ["is ready", {}, "real"],
    ["is at capacity", full, "busy"],
    [
      "is loading",
      { tunnel: { kind: "open", readiness: "loading", problem: "", sinceMs: 0 } },
      "busy",
    ],
    ["is offline", offline, "demo"],
    ["is down", { direct: { kind: "failed", reason: "ECONNREFUSED" } }, "demo"],
    ["has used up its budget", { restsUntilMs: 1_000 }, "demo"],
    [
      "cannot serve the surface",
      { capabilities: { openResponses: "unknown", chatCompletions: "unsupported" } },
      "demo",
    ],
  ])("takes * only when no other can: another %s", (_what, fields, expected) => {
    const real = aParticipant({ id: "real", ...fields });
    expect(everyPick([standIn(), real])).toEqual([expected]);
    expect(everyPick([real, standIn()])).toEqual([expected]);
  });

  test("is not waited for beside one that is at capacity", () => {
    const selection = select([standIn(), aParticipant({ id: "real", ...full })], "*");
    expect(selection.kind === "busy" && selection.candidates.map((one) => one.id)).toEqual([
      "real",
    ]);
  });

  test("takes * among its like when there is no other", () => {
    expect(everyPick([standIn(), { ...standIn(), id: "demo-2" }])).toEqual(["demo", "demo-2"]);
  });

  test("does not take a request that failed at another which is still there", () => {
    const real = aParticipant({ id: "real" });
    expect(outcome(select([standIn(), real], "*", { excluded: [real] }))).not.toBe("demo");
    real.presence.status = "offline";
    expect(outcome(select([standIn(), real], "*", { excluded: [real] }))).toBe("demo");
  });

  test.each(["demo", "model:demo"])("is reached as %s beside others", (name) => {
    expect(outcome(select([aParticipant({ id: "real" }), standIn()], name))).toBe("demo");
  });

  test("serves a request that only it can serve, whatever it selects", () => {
    const demo = standIn();
    const participants = [aParticipant({ id: "real" }), demo];
    expect(outcome(select(participants, "*", { only: demo }))).toBe("demo");
  });
});

describe("model:<name>", () => {
  test("takes the first by join order", () => {
    const participants = ["b", "a", "c"].map((id) => aParticipant({ id }));
    expect(outcome(select(participants, "model:llama3", { random: () => 0.99 }))).toBe("b");
  });

  test("skips participants at capacity or unreachable while another has room", () => {
    const participants = [
      aParticipant({ id: "gone", ...offline }),
      aParticipant({ id: "full", ...full }),
      aParticipant({ id: "free" }),
    ];
    expect(outcome(select(participants, "model:llama3"))).toBe("free");
  });

  test("is never an id", () => {
    const participants = [aParticipant({ id: "llama3", model: "other" })];
    expect(outcome(select(participants, "model:llama3"))).toBe("model_not_found");
  });
});

describe("a bare name", () => {
  test.each([
    ["the id joined first", ["x", "y"]],
    ["the model joined first", ["y", "x"]],
  ])("is an id before it is a model name: %s", (_order, ids) => {
    const participants = ids.map((id) => aParticipant({ id, model: id === "y" ? "x" : "other" }));
    expect(outcome(select(participants, "x"))).toBe("x");
  });

  test("stays with the id while it is merely full", () => {
    const participants = [
      aParticipant({ id: "x", model: "other", ...full }),
      aParticipant({ id: "y", model: "x" }),
    ];
    expect(outcome(select(participants, "x"))).toBe("busy");
  });

  test("goes to the model of that name when the id is offline", () => {
    const participants = [
      aParticipant({ id: "x", model: "other", ...offline }),
      aParticipant({ id: "y", model: "x" }),
    ];
    expect(outcome(select(participants, "x"))).toBe("y");
  });

  test("of an offline id without such a model is 503, not 404", () => {
    const participants = [aParticipant({ id: "x", ...offline }), aParticipant({ id: "y" })];
    expect(outcome(select(participants, "x"))).toBe("participant_offline");
  });

  test("lists the id and the model's participants when none of them can be reached", () => {
    const participants = [
      aParticipant({ id: "x", model: "other", ...offline }),
      aParticipant({ id: "y", model: "x", direct: { kind: "failed", reason: "refused" } }),
      aParticipant({ id: "z" }),
    ];
    expect(refusalsOf(select(participants, "x"))).toEqual({
      x: "offline: no contact for over 30 s",
      y: "refused",
    });
  });
});

describe("the :latest tag", () => {
  test.each([
    ["llama3", "llama3:latest"],
    ["llama3:latest", "llama3"],
  ])("%s also finds %s", (asked, served) => {
    expect(outcome(select([aParticipant({ id: "a", model: served })], asked))).toBe("a");
  });

  test.each([
    ["llama3", "llama3:8b"],
    ["llama3:8b", "llama3:latest"],
    ["llama3", "Llama3"],
  ])("%s does not find %s", (asked, served) => {
    const selection = select([aParticipant({ id: "a", model: served })], asked);
    expect(outcome(selection)).toBe("model_not_found");
  });

  test("an exact name comes first, in any join order", () => {
    const participants = [
      aParticipant({ id: "tagged", model: "llama3:latest" }),
      aParticipant({ id: "exact", model: "llama3" }),
    ];
    expect(outcome(select(participants, "llama3"))).toBe("exact");
    expect(outcome(select(participants, "model:llama3:latest"))).toBe("tagged");
  });

  test.each([
    ["offline", offline],
    ["full", full],
  ])("the near name serves while the exact one is %s", (_state, state) => {
    const participants = [
      aParticipant({ id: "exact", ...state }),
      aParticipant({ id: "tagged", model: "llama3:latest" }),
    ];
    expect(outcome(select(participants, "llama3"))).toBe("tagged");
  });

  test("when both are full the request waits for either", () => {
    const selection = select(
      [
        aParticipant({ id: "exact", ...full }),
        aParticipant({ id: "tagged", model: "llama3:latest", ...full }),
      ],
      "llama3",
    );
    expect(selection.kind === "busy" && selection.candidates).toHaveLength(2);
  });
});

describe("capabilities", () => {
  const cannot = {
    capabilities: { openResponses: "supported", chatCompletions: "unsupported" },
  } as const;

  test("unsupported removes a candidate; unknown and undeclared are tried", () => {
    const participants = [aParticipant({ id: "cannot", ...cannot }), aParticipant({ id: "may" })];
    expect(outcome(select(participants, "llama3"))).toBe("may");
    expect(outcome(select(participants, "llama3", { protocol: "embeddings" }))).toBe("cannot");
  });

  test.each(["responsesCompact", "responsesInputTokens"])(
    "%s is not served without openResponses",
    (protocol) => {
      const capabilities = { openResponses: "unsupported", chatCompletions: "supported" } as const;
      const one = aParticipant({ id: "a", capabilities });
      expect(outcome(select([one], "*", { protocol }))).toBe("unsupported_protocol");
      const other = { openResponses: "supported", chatCompletions: "supported" } as const;
      const two = aParticipant({ id: "b", capabilities: other });
      expect(outcome(select([one, two], "*", { protocol }))).toBe("b");
      two.learned.capabilities = { ...other, [protocol]: "unsupported" };
      expect(outcome(select([one, two], "*", { protocol }))).toBe("unsupported_protocol");
    },
  );

  test("when none is left the answer is unsupported_protocol and says who", () => {
    const selection = select([aParticipant({ id: "a", ...cannot })], "a");
    expect(outcome(selection)).toBe("unsupported_protocol");
    expect(refusalsOf(selection)).toEqual({ a: "does not support /chat/completions" });
  });

  test("an able one that is offline makes it a matter of waiting, and both are told", () => {
    const selection = select(
      [aParticipant({ id: "cannot", ...cannot }), aParticipant({ id: "gone", ...offline })],
      "llama3",
    );
    expect(outcome(selection)).toBe("participant_offline");
    expect(refusalsOf(selection)).toEqual({
      cannot: "does not support /chat/completions",
      gone: "offline: no contact for over 30 s",
    });
  });
});

describe("a refusal", () => {
  test("gives each participant's own reason", () => {
    const selection = select(
      [
        aParticipant({ id: "gone", ...offline }),
        aParticipant({
          id: "down",
          tunnel: { kind: "open", readiness: "down", problem: "no Ollama", sinceMs: 0 },
        }),
        aParticipant({
          id: "mute",
          tunnel: { kind: "open", readiness: "down", problem: "", sinceMs: 0 },
        }),
        aParticipant({ id: "far", direct: { kind: "refused", reason: "private address" } }),
        aParticipant({ id: "dead", direct: { kind: "failed", reason: "ECONNREFUSED" } }),
        aParticipant({
          id: "shut",
          isTunnelOnly: true,
          direct: { kind: "refused", reason: "never dialled" },
        }),
      ],
      "llama3",
    );
    expect(outcome(selection)).toBe("participant_offline");
    expect(refusalsOf(selection)).toEqual({
      gone: "offline: no contact for over 30 s",
      down: "not ready: no Ollama",
      mute: "not ready: its model server does not respond",
      far: "private address",
      dead: "ECONNREFUSED",
      shut: "its tunnel is closed",
    });
  });

  test.each([
    ["nobody answers; is Ollama running?", "nobody answers; is Ollama running?"],
    ["its port is closed", "its port is closed."],
  ])("that is told by %j is told in one sentence", (reason, said) => {
    const failed = aParticipant({ id: "ana", direct: { kind: "failed", reason } });
    expect(select([failed], "*")).toMatchObject({ message: `ana cannot be reached now: ${said}` });
  });

  test("of an unknown name lists who is there and what they serve", () => {
    expect(refusalsOf(select([aParticipant({ id: "a", model: "qwen" })], "gpt-4"))).toEqual({
      a: "serves qwen",
    });
  });

  test.each([
    ["lama3", "llama3"],
    ["LLAMA3", "llama3"],
    ["qwen2.5-coder", "qwen2.5-coder:7b"],
    ["an", "ana"],
    ["model:lama3", "llama3"],
  ])("of %s asks whether %s was meant", (typed, meant) => {
    const selection = select(
      [aParticipant({ id: "ana" }), aParticipant({ id: "bob", model: "qwen2.5-coder:7b" })],
      typed,
    );
    expect(selection.kind === "refused" && selection.message).toContain(`Did you mean "${meant}"?`);
  });

  test("of a name like no other suggests nothing of the sort", () => {
    const selection = select([aParticipant({ id: "ana" })], "zzzzzzzzzz");
    expect(selection).toMatchObject({
      kind: "refused",
      message: expect.not.stringContaining("Did you mean") as string,
      hint: expect.stringContaining('Use "*" for any participant') as string,
    });
  });
});

describe("a second attempt", () => {
  const first = aParticipant({ id: "a" });
  const second = aParticipant({ id: "b" });

  test.each(["*", "model:llama3", "llama3"])("of %s never goes back to the first", (model) => {
    expect(outcome(select([first, second], model, { excluded: [first] }))).toBe("b");
    expect(outcome(select([first], model, { excluded: [first] }))).toBe("model_not_found");
  });

  test("may move unless the client named the participant itself", () => {
    expect(mayMoveElsewhere(parseSelector("*"), first)).toBe(true);
    expect(mayMoveElsewhere(parseSelector("model:llama3"), first)).toBe(true);
    expect(mayMoveElsewhere(parseSelector("llama3"), first)).toBe(true);
    expect(mayMoveElsewhere(parseSelector("a"), first)).toBe(false);
  });
});

describe("what a model server is known to be", () => {
  const verdict = (readiness: Readiness, problem = "", sinceMs = 0) => ({
    tunnel: { kind: "open", readiness, problem, sinceMs } as const,
  });
  const asked = { ...full };

  /** the participants in join order, the selector, and what becomes of the request */
  const table: [Record<string, ParticipantFields>, string, string][] = [
    [{ a: verdict("loading") }, "*", "waits for a"],
    [{ a: verdict("loading") }, "a", "waits for a"],
    [{ a: verdict("loading") }, "llama3", "waits for a"],
    [{ a: verdict("loading"), b: {} }, "*", "b"],
    [{ a: verdict("loading"), b: {} }, "llama3", "b"],
    [{ a: verdict("loading"), b: {} }, "model:llama3", "b"],
    [{ a: verdict("loading"), b: {} }, "a", "waits for a"],
    [{ a: verdict("loading"), b: asked }, "*", "waits for a b"],
    [{ a: verdict("loading"), b: verdict("loading") }, "any", "waits for a b"],
    [{ a: verdict("loading"), b: verdict("down") }, "*", "waits for a"],
    [{ a: verdict("loading"), b: verdict("needs-credentials") }, "*", "waits for a"],
    [{ a: { ...verdict("loading"), ...asked } }, "*", "waits for a"],
    [{ a: { ...verdict("loading"), ...offline } }, "*", "participant_offline"],
    [
      { a: { ...verdict("loading"), model: "x" }, llama3: verdict("loading") },
      "llama3",
      "waits for llama3",
    ],
    [
      { llama3: { ...verdict("down"), model: "x" }, b: verdict("loading") },
      "llama3",
      "waits for b",
    ],
    [{ a: verdict("needs-credentials") }, "*", "provider_auth_failed"],
    [{ a: verdict("needs-credentials") }, "a", "provider_auth_failed"],
    [{ a: verdict("needs-credentials") }, "llama3", "provider_auth_failed"],
    [{ a: verdict("needs-credentials"), b: {} }, "*", "b"],
    [{ a: verdict("needs-credentials"), b: {} }, "a", "provider_auth_failed"],
    [{ a: verdict("needs-credentials"), b: asked }, "*", "waits for b"],
    [{ a: verdict("needs-credentials"), b: verdict("down") }, "*", "participant_offline"],
    [{ a: verdict("needs-credentials"), b: offline }, "*", "participant_offline"],
    [{ llama3: verdict("needs-credentials"), b: {} }, "llama3", "b"],
    [{ a: verdict("wrong-model") }, "*", "participant_offline"],
    [{ a: verdict("wrong-model"), b: {} }, "*", "b"],
    [{ a: verdict("down") }, "a", "participant_offline"],
  ];

  test.each(table)("%j, asked for %s: %s", (participants, model, expected) => {
    const all = Object.entries(participants).map(([id, fields]) => aParticipant({ id, ...fields }));
    const selection = select(all, model);
    const waits = selection.kind === "busy" && selection.candidates.map((one) => one.id);
    expect(waits ? `waits for ${waits.join(" ")}` : outcome(selection)).toBe(expected);
  });

  test("is the same for an endpoint that the hub calls itself", () => {
    const direct = { kind: "answered", problem: "", sinceMs: 0 } as const;
    const codes = (["loading", "needs-credentials", "wrong-model", "down", "ready"] as const).map(
      (readiness) =>
        outcome(select([aParticipant({ id: "a", direct: { ...direct, readiness } })], "*")),
    );
    expect(codes).toEqual([
      "busy",
      "provider_auth_failed",
      "participant_offline",
      "participant_offline",
      "a",
    ]);
  });

  test("is told to a client that needs another key, with the command that gives one", () => {
    expect(select([aParticipant({ id: "ana", ...verdict("needs-credentials") })], "*")).toEqual({
      kind: "refused",
      code: "provider_auth_failed",
      message: "The model server of ana requires credentials.",
      hint: "Join again with its key: roomhub join ABC234 --header-env Authorization=VARIABLE",
      refusals: [{ id: "ana", model: "llama3", reason: "requires credentials" }],
    });
  });

  test("is the reason in a refusal, with how long it has been loading", () => {
    const participants = [
      aParticipant({ id: "fresh", ...verdict("loading", "", 99_500) }),
      aParticipant({ id: "slow", ...verdict("loading", "is loading its model", 60_000) }),
      aParticipant({ id: "late", ...verdict("loading", "", -80_000) }),
      aParticipant({ id: "other", ...verdict("wrong-model", "now serves qwen") }),
      aParticipant({ id: "locked", ...verdict("needs-credentials") }),
    ];
    expect(refusalsOf(select(participants, "gpt-4", { nowMs: () => 100_000 }))).toEqual({
      fresh: "loading its model",
      slow: "loading its model for 40 s",
      late: "loading its model for 3 min",
      other: "now serves qwen",
      locked: "requires credentials",
    });
  });
});

test("whatever the room and the selector, the rule holds and no unroutable, full, unable or excluded participant is selected", () => {
  const state = record({
    id: constantFrom("a", "b", "c", "llama3", "x:latest"),
    model: constantFrom("llama3", "llama3:latest", "a", "x", "x:latest"),
    status: constantFrom("online" as const, "offline" as const),
    tunnel: constantFrom(
      { kind: "closed" } as const,
      { kind: "open", readiness: "ready", problem: "", sinceMs: 0 } as const,
      { kind: "open", readiness: "down", problem: "", sinceMs: 0 } as const,
      { kind: "open", readiness: "loading", problem: "", sinceMs: 0 } as const,
      { kind: "open", readiness: "needs-credentials", problem: "", sinceMs: 0 } as const,
    ),
    direct: constantFrom(
      { kind: "untried" } as const,
      { kind: "answered", readiness: "ready", problem: "", sinceMs: 0 } as const,
      { kind: "failed", reason: "f" } as const,
      { kind: "refused", reason: "r" } as const,
    ),
    active: integer({ min: 0, max: 3 }),
    isStandIn: boolean(),
    chat: constantFrom("supported" as const, "unsupported" as const, "unknown" as const),
  });
  const models = constantFrom("*", "any", "model:llama3", "llama3", "a", "x", "x:latest", "nobody");
  const randomness = double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  assert(
    property(array(state, { maxLength: 5 }), models, randomness, (states, model, random) => {
      const participants = states.map(({ chat, ...fields }) =>
        aParticipant({
          ...fields,
          capabilities: { openResponses: "unknown", chatCompletions: chat },
        }),
      );
      const room = aRoom(...participants);
      const excluded = participants.slice(3);
      const query: SelectionQuery = {
        ...plainQuery(parseSelector(model), "chatCompletions", () => 0),
        excluded,
        random: () => random,
      };
      const selection = selectParticipant(room, query);
      // The short way comes to the same as the whole rule.
      expect(selection).toEqual(selectByRule(room, query));
      const chosen =
        selection.kind === "selected"
          ? [selection.participant]
          : selection.kind === "busy"
            ? selection.candidates
            : [];
      for (const one of chosen) {
        expect(room.participants.get(one.id)).toBe(one);
        const isReady = isRoutable(one, () => 0);
        expect(isReady || isLoading(one)).toBe(true);
        expect(one.learned.capabilities.chatCompletions).not.toBe("unsupported");
        expect(excluded).not.toContain(one);
        expect(isFull(one) || !isReady).toBe(selection.kind === "busy");
      }
    }),
  );
});
