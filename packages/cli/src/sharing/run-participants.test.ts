import { expect, test } from "vitest";
import type { ParticipantOptions } from "@roomhub/participant";
import { makeWorld } from "../test-context.fixture.ts";
import { runParticipants } from "./run-participants.ts";

const options = {
  ...{ hubUrl: "http://10.0.0.9:5050", room: "ABC234", id: "ana-llama", nickname: "Ana" },
  ...{ model: "llama", endpoint: "http://127.0.0.1:11434" },
} satisfies ParticipantOptions;

/** Runs them until they are made, and stops. */
async function run(participants: ParticipantOptions[], act: (made: ParticipantOptions[]) => void) {
  const world = makeWorld();
  const stop = new AbortController();
  const context: typeof world.context = {
    ...world.context,
    async createParticipant(made) {
      const participant = await world.context.createParticipant(made);
      if (world.participants.length < participants.length) return participant;
      act(world.participants);
      stop.abort();
      return participant;
    },
  };
  const how = {
    signal: stop.signal,
    isJson: false,
    isQuiet: false,
    hasKeys: false,
    isNotifying: false,
  };
  await runParticipants(context, participants, how);
  return world.stderr.text;
}

test("an id that another agent has taken is replaced by the next one, and what is printed has that", async () => {
  const next = ["ana-llama-box", "ana-llama-2"];
  const nextId = () => next.shift() ?? "none";
  const text = await run([{ ...options, nextId }], ([made]) => {
    expect(made?.nextId?.("ana-llama")).toBe("ana-llama-box");
    expect(made?.nextId?.("ana-llama-box")).toBe("ana-llama-2");
  });
  expect(text).toContain("The room has a participant ana-llama; joining as ana-llama-box\n");
  expect(text).toContain("ana-llama-2 left room ABC234\n");
});

test("an id that was chosen has no next one", async () => {
  await run([options], ([made]) => expect(made?.nextId).toBeUndefined());
});

test("all participants of one process name the same agent", async () => {
  const other = { ...options, id: "ana-qwen", model: "qwen" };
  await run([options, other], ([one, two]) => {
    expect(one?.agentId).toMatch(/^[\da-f-]{36}$/);
    expect(two?.agentId).toBe(one?.agentId);
  });
});
