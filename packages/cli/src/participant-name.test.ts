import { participantIdProblem } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { freeId, suggestId } from "./participant-name.ts";
import { aParticipant } from "./test-context.fixture.ts";

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
])("%j with the model %j is called %s", (nickname, model, id) => {
  expect(suggestId(nickname, model)).toBe(id);
  expect(participantIdProblem(id)).toBeUndefined();
});

test("an id somebody is connected under is counted up, a vacant one is taken again", () => {
  const connected = (id: string) => aParticipant({ id });
  const gone = aParticipant({
    id: "ana",
    connection: { kind: "tunnel", connected: false, lastTunnelSeenAt: null, path: "none" },
  });
  expect(freeId("ana", [])).toBe("ana");
  expect(freeId("ana", [gone])).toBe("ana");
  expect(freeId("ana", [connected("ana"), connected("ana-2")])).toBe("ana-3");
});
