import { describe, expect, test } from "vitest";
import { noDemand } from "./needs/demand.ts";
import type { Participant } from "./participant.ts";
import { aParticipant, aRoom } from "./room.fixture.ts";
import { parseSelector, plainQuery, type Selection } from "./selection-query.ts";
import { selectParticipant } from "./selector.ts";

function selectFrom(all: Participant[], models: string[], model: string): Selection {
  const demand = { ...noDemand, models };
  const selector = parseSelector(model);
  const query = plainQuery(selector, "chatCompletions", () => 0, undefined, demand);
  return selectParticipant(aRoom(...all), query);
}

/** The id selected, or the kind or code of what happened instead. */
function outcome(selection: Selection): string {
  if (selection.kind === "selected") return selection.participant.id;
  return selection.kind === "busy" ? "busy" : selection.code;
}

describe("a key that permits some models", () => {
  const room = [
    aParticipant({ id: "ada", model: "llama3:latest" }),
    aParticipant({ id: "bo", model: "qwen" }),
    aParticipant({ id: "cy", model: "qwen" }),
  ];
  const selectFor = (models: string[], model: string) => selectFrom(room, models, model);

  test.each([
    ["*", ["qwen"], "bo"],
    ["any", ["llama3"], "ada"],
    ["model:qwen", ["qwen", "other"], "bo"],
    ["llama3", ["llama3"], "ada"],
    ["cy", ["qwen"], "cy"],
    ["cy", ["llama3"], "not_allowed"],
    ["qwen", ["llama3"], "not_allowed"],
    ["model:qwen", ["llama3"], "not_allowed"],
    ["*", ["other"], "not_allowed"],
    ["ghost", ["qwen"], "model_not_found"],
  ])("%s with %j gives %s", (model, models, expected) => {
    expect(outcome(selectFor(models, model))).toBe(expected);
  });

  test("a refusal says what it permits, and names no other participant", () => {
    expect(selectFor(["llama3", "phi"], "bo")).toMatchObject({
      message: 'This key permits llama3, phi in room ABC234. "bo" serves none of them.',
      refusals: [],
    });
    expect(selectFor(["llama3"], "ghost")).toMatchObject({ refusals: [{ id: "ada" }] });
  });

  test("a stand-in is not left to participants that the key does not permit", () => {
    const standIn = aParticipant({ id: "di", model: "small" });
    standIn.isStandIn = true;
    expect(outcome(selectFrom([...room, standIn], ["small"], "*"))).toBe("di");
  });
});
