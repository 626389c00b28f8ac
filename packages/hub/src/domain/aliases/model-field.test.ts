import { describe, expect, test } from "vitest";
import { aParticipant, aRoom, type ParticipantFields } from "../room.fixture.ts";
import type { Room } from "../room.ts";
import { AliasTable } from "./alias-table.ts";
import { readModelField, selectorText, selectTarget } from "./model-field.ts";
import type { Participant } from "../participant.ts";
import { plainQuery } from "../selection-query.ts";

function roomWith(aliases: Record<string, string[]>): Room {
  const room = aRoom(
    aParticipant({ id: "ana", model: "qwen3-coder" }),
    aParticipant({ id: "bob", model: "llama3:latest", status: "offline" }),
  );
  room.aliases = new AliasTable(
    Object.entries(aliases).map(([pattern, targets]) => ({ pattern, targets, createdAt: 0 })),
  );
  return room;
}

function reading(aliases: Record<string, string[]>, text: string) {
  const { alias, targets } = readModelField(roomWith(aliases), text);
  return [alias, ...targets.map(selectorText)];
}

const everything = { "*": ["bob", "*"], ana: ["bob"], llama3: ["ana"], any: ["ana"] };

describe("a model field", () => {
  test.each([
    ["*", [undefined, "*"]],
    ["any", [undefined, "*"]],
    ["model:claude", [undefined, "model:claude"]],
    ["ana", [undefined, "ana"]],
    ["qwen3-coder", [undefined, "qwen3-coder"]],
    // Offline, and under its name without the tag.
    ["llama3", [undefined, "llama3"]],
    ["bob", [undefined, "bob"]],
    ["gpt-5", ["*", "bob", "*"]],
  ])("%s where everything has an alias means %j", (text, expected) => {
    expect(reading(everything, text)).toEqual(expected);
  });

  test("means the targets of its alias as they are written, whichever aliases match them", () => {
    const aliases = { "gpt-*": ["gpt-oss", "model:x", "*"], "*": ["bob"] };
    expect(reading(aliases, "gpt-5")).toEqual(["gpt-*", "gpt-oss", "model:x", "*"]);
  });
});

const nowMs = () => 0;

function select(targets: string[], ...participants: Participant[]) {
  const room = aRoom(...participants);
  room.aliases = new AliasTable([{ pattern: "claude-*", targets, createdAt: 0 }]);
  const field = readModelField(room, "claude-opus");
  return selectTarget(room, field, 0, (target) => plainQuery(target, "messages", nowMs));
}

const coder = (fields: ParticipantFields = {}) =>
  aParticipant({ id: "ana", model: "coder", ...fields });
const other = aParticipant({ id: "bob", model: "llama3" });
const offline = { status: "offline" } as const;
const loading = {
  tunnel: { kind: "open", readiness: "loading", problem: "", sinceMs: 0 },
} as const;

describe("the target that takes a request", () => {
  test.each([
    ["the first, while it is free", coder(), "selected", 0],
    ["the first, while it is full", coder({ active: 2 }), "busy", 0],
    ["the first, while it loads its model", coder(loading), "busy", 0],
    ["the next, while the first is offline", coder(offline), "selected", 1],
    [
      "the next, while the first cannot serve the protocol",
      coder({
        capabilities: {
          openResponses: "unknown",
          chatCompletions: "unknown",
          messages: "unsupported",
        },
      }),
      "selected",
      1,
    ],
  ])("is %s", (_title, first, kind, place) => {
    const taken = select(["coder", "llama3"], first, other);
    expect([taken.selection.kind, taken.place]).toEqual([kind, place]);
  });

  test("is the next, when no participant has the name of the first", () => {
    expect(select(["nothing", "*"], other)).toMatchObject({
      place: 1,
      selection: { participant: { id: "bob" } },
    });
  });
});

describe("a request that no target can take", () => {
  test("is refused for the first participant that is a target, and names the alias", () => {
    const { selection } = select(["nothing", "coder", "else"], coder(offline));
    expect(selection).toMatchObject({ kind: "refused", code: "participant_offline" });
    expect(selection).toHaveProperty(
      "message",
      expect.stringMatching(/^Alias "claude-\*": ana cannot be reached now: offline/),
    );
  });

  test("is 404 when no participant is a target, and lists them", () => {
    expect(select(["x", "y", "z", "w"], other).selection).toMatchObject({
      code: "model_not_found",
      message:
        'Alias "claude-*": no participant in room ABC234 has the id or serves the model of a target (x, y, z and others).',
      hint: "Change the alias: roomhub alias ABC234. The names: roomhub models ABC234",
    });
  });

  test("is refused in an empty room like every request", () => {
    expect(select(["x"]).selection).toHaveProperty(
      "message",
      "No participant has joined room ABC234 yet.",
    );
  });
});
