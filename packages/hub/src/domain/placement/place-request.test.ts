import { expect, test } from "vitest";
import type { Participant } from "../participant.ts";
import { aParticipant, aRoom, type ParticipantFields } from "../room.fixture.ts";
import { plainQuery } from "../selection-query.ts";
import { placeRequest } from "./place-request.ts";

const prompt = { session: "s", borders: [], bytes: 10_000 };

function placedIn(participants: Participant[], random: number, warm?: Participant): string {
  const room = aRoom(...participants);
  if (warm !== undefined) room.placing.warm.note(warm, prompt, 0);
  const selector = { kind: "name", name: "llama3" } as const;
  const query = {
    ...plainQuery(selector, "chatCompletions", () => 0, prompt),
    random: () => random,
  };
  const placement = placeRequest(room, participants, query);
  return placement.kind === "full" ? "full" : placement.candidate.participant.id;
}

function many(count: number, fields: ParticipantFields = {}): Participant[] {
  return Array.from({ length: count }, (_, index) => aParticipant({ id: `p${index}`, ...fields }));
}

test("of up to 32 participants all are compared, in join order", () => {
  for (const random of [0, 0.5, 0.99]) expect(placedIn(many(32), random)).toBe("p0");
});

test("of more than 32 free participants, those from a random one on are compared", () => {
  expect(placedIn(many(1_000), 0)).toBe("p0");
  expect(placedIn(many(1_000), 0.5)).toBe("p500");
  expect(placedIn(many(1_000), 0.999)).toBe("p999");
});

test("the one that holds the prompt warm is compared, wherever it stands", () => {
  const participants = many(1_000);
  expect(placedIn(participants, 0.5, participants[123])).toBe("p123");
});

test("one at capacity that has the model loaded is compared with those that would load it", () => {
  const loaded = aParticipant({
    id: "loaded",
    active: 1,
    limit: 1,
    loadedModels: ["llama3:latest"],
  });
  loaded.load.startedMs.push(-900);
  for (let count = 0; count < 2; count++)
    loaded.learned.pace.noteFirst("stream", { promptBytes: 10_000, coldBytes: 10_000 }, 100, 0);
  loaded.learned.pace.noteSlot(1_000);
  const idle = aParticipant({ id: "idle", loadedModels: [] });
  expect(placedIn([idle, loaded], 0)).toBe("loaded");
  loaded.learned.pace.noteSlot(100_000);
  expect(placedIn([idle, loaded], 0)).toBe("idle");
});

test("busy, unable and unreachable participants are passed over, however many they are", () => {
  const busy = { active: 2, limit: 2 };
  expect(placedIn([...many(500, busy), aParticipant({ id: "free" })], 0.2)).toBe("free");
  expect(placedIn([...many(500, { status: "offline" }), aParticipant({ id: "free" })], 0)).toBe(
    "free",
  );
  const unable = { openResponses: "unknown", chatCompletions: "unsupported" } as const;
  expect(placedIn(many(40, { capabilities: unable }), 0)).toBe("full");
  expect(placedIn(many(40, busy), 0)).toBe("full");
});

test("one that has the model loaded comes before one that must load it, and one that does not say is taken for loaded", () => {
  const must = aParticipant({ id: "must", loadedModels: ["qwen3"] });
  const has = aParticipant({ id: "has", loadedModels: ["qwen3", `${must.model}:latest`] });
  expect(placedIn([must, has], 0)).toBe("has");
  expect(placedIn([must, aParticipant({ id: "silent" })], 0)).toBe("silent");
});
