import type { ParticipantSummary } from "@roomhub/protocol";
import { expect, test } from "vitest";
import type { Client } from "../capabilities.ts";
import { aRoute } from "../doctor/doctor.fixture.ts";
import { aParticipant, makeWorld } from "../test-context.fixture.ts";
import { modelChoices } from "./model-choices.ts";

/** @param firstTokenMs - of the participants of each model, as far as the hub has measured them */
function choicesOf(
  participants: readonly ParticipantSummary[],
  firstTokenMs: Record<string, number[]> = {},
) {
  const explainRoute: Client["explainRoute"] = async (_room, { model = "" }) => {
    const times = firstTokenMs[model];
    if (times === undefined) throw new Error("the hub is busy");
    const [candidate] = aRoute.participants;
    if (candidate === undefined) throw new Error("no candidate");
    return {
      ...aRoute,
      participants: [
        { ...candidate, expected: { waitMs: 0 } },
        ...times.map((ms) => ({ ...candidate, expected: { firstTokenMs: ms } })),
      ],
    };
  };
  const listParticipants = async () => [...participants];
  const { context } = makeWorld({}, { listParticipants, explainRoute });
  return modelChoices(context.world, context.createClient("http://hub"), "ABC234");
}

const { connection } = aParticipant();
const ana = aParticipant();
const ben = aParticipant({ id: "ben", nickname: "Ben", model: "llama3:latest" });
const demo = aParticipant({ id: "demo", nickname: "Eve", model: "demo", standIn: true });
const paused = aParticipant({
  ...{ id: "carl", nickname: "Carl", model: "qwen3", status: "unavailable" },
  connection: { ...connection, problem: "Carl has paused sharing qwen3" },
});

test("a model is listed once, with those who share it and the time that the hub expects", async () => {
  expect(await choicesOf([ana, ben], { llama3: [340, 120] })).toEqual([
    { selector: "llama3", name: "llama3", facts: "Ana and Ben, first token in about 120 ms" },
  ]);
});

test("a speed that was not measured, or that the hub does not explain, is left out", async () => {
  const facts = [{ selector: "llama3", name: "llama3", facts: "Ana" }];
  expect(await choicesOf([ana], { llama3: [] })).toEqual(facts);
  expect(await choicesOf([ana])).toEqual(facts);
});

test("a model that can take no request now comes last, with the reason", async () => {
  expect(await choicesOf([paused, ana])).toEqual([
    { selector: "llama3", name: "llama3", facts: "Ana" },
    { selector: "qwen3", name: "qwen3", facts: "Carl has paused sharing qwen3" },
  ]);
});

test("models that are offline or cannot chat are no choice", async () => {
  const offline = aParticipant({ status: "offline" });
  const capabilities = { ...ana.capabilities, chatCompletions: "unsupported" } as const;
  expect(await choicesOf([offline, aParticipant({ capabilities })])).toEqual([]);
});

test("a stand-in is a choice while there is no other, for any model that comes", async () => {
  expect(await choicesOf([demo])).toEqual([
    { selector: "*", name: "demo", facts: "Eve, stand-in" },
  ]);
  expect((await choicesOf([demo, ana])).map(({ name }) => name)).toEqual(["llama3"]);
});

test("names of strangers cannot control the terminal, and many are counted", async () => {
  const many = ["\u001b[2J", "b", "c", "d"].map((nickname) => aParticipant({ nickname }));
  const [choice] = await choicesOf(many);
  expect(choice?.facts).toBe("\ufffd[2J, b and 2 more");
});
