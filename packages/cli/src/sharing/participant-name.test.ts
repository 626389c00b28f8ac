import { participantIdProblem } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { connectedIds, freeId, suggestId } from "./participant-name.ts";
import { aParticipant } from "../test-context.fixture.ts";

test.each([
  ["Ana", "llama3.2:3b", "ana-llama3.2-3b"],
  ["Ana", "llama3.2:latest", "ana-llama3.2"],
  ["Ana", "meta-llama/Llama-3.2-3B-Instruct", "ana-llama-3.2-3b-instruct"],
  ["Zoë Ångström", "qwen2.5", "zoe-angstrom-qwen2.5"],
  ["安娜", "llama3", "llama3"],
  ["안나", "模型", "participant-"],
  ["any", "", "participant-any"],
  ["model", "x", "model-x"],
  ["a".repeat(200), "b", "a".repeat(90)],
  ["Ana", "/home/ana/models/qwen2.5-7b-q4_k_m.gguf", "ana-qwen2.5-7b-q4_k_m"],
  ["Ana", String.raw`C:\models\Tiny.GGUF`, "ana-tiny"],
  ["Ana", "big-00001-of-00003.gguf", "ana-big"],
])("%j with the model %j is called %s", (nickname, model, id) => {
  expect(suggestId(nickname, model)).toBe(id);
  expect(participantIdProblem(id)).toBeUndefined();
});

test("an id in use gets the machine's name appended, then a number", () => {
  expect(freeId("ana", "Box.local", new Set())).toBe("ana");
  expect(freeId("ana", "Box.local", new Set(["ana"]))).toBe("ana-box");
  expect(freeId("ana", "Box.local", new Set(["ana", "ana-box"]))).toBe("ana-2");
  expect(freeId("ana", "Box.local", new Set(["ana", "ana-box", "ana-2"]))).toBe("ana-3");
  expect(freeId("ana", "…", new Set(["ana"]))).toBe("ana-2");
  const long = freeId("a".repeat(90), "b".repeat(90), new Set(["a".repeat(90)]));
  expect(participantIdProblem(long)).toBeUndefined();
});

test("an id of a disconnected participant is free", () => {
  const gone = aParticipant({
    connection: {
      kind: "tunnel",
      connected: false,
      lastTunnelSeenAt: null,
      path: "none",
      readiness: "down",
    },
  });
  expect(connectedIds([gone, aParticipant({ id: "here" })])).toEqual(new Set(["here"]));
});
