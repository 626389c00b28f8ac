import { expect, test } from "vitest";
import { aParticipant, aRoom } from "../room.fixture.ts";
import { aliasCommand } from "./client-default.ts";

const ana = aParticipant({ id: "ana", model: "qwen3-coder:latest" });

test.each([
  ["claude-sonnet-4-5", "roomhub alias ABC234 'claude-*' qwen3-coder"],
  ["gpt-5.1-codex", "roomhub alias ABC234 'gpt-*' qwen3-coder"],
  ["o3", "roomhub alias ABC234 'o3*' qwen3-coder"],
  ["o4-mini", "roomhub alias ABC234 'o4*' qwen3-coder"],
  ["olmo-2", undefined],
  ["llama3", undefined],
  ["Claude-3", undefined],
])("in a room with one model, %s would be served after %s", (name, expected) => {
  const bob = aParticipant({ id: "bob", model: "qwen3-coder" });
  expect(aliasCommand(aRoom(ana, bob), name)).toBe(expected);
});

test("a room with several models, or none, has no such line", () => {
  const other = aParticipant({ id: "bob", model: "llama3" });
  expect(aliasCommand(aRoom(ana, other), "gpt-5")).toBeUndefined();
  expect(aliasCommand(aRoom(), "gpt-5")).toBeUndefined();
});

test("a model whose name would mean something to a shell is not in the line", () => {
  const odd = aParticipant({ id: "ana", model: "x'; rm -rf ~ #" });
  expect(aliasCommand(aRoom(odd), "gpt-5")).toBe("roomhub alias ABC234 'gpt-*' '*'");
});
