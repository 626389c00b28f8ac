import {
  array,
  assert,
  boolean,
  constantFrom,
  integer,
  option,
  property,
  record,
} from "fast-check";
import { expect, test } from "vitest";
import { mostBytesPerToken, noDemand } from "./demand.ts";
import { updateFacts } from "./model-facts.ts";
import type { Participant } from "../participant.ts";
import { aParticipant, aRoom } from "../room.fixture.ts";
import { parseSelector, plainQuery } from "../selection-query.ts";
import { selectParticipant } from "../selector.ts";

const word = constantFrom("supported", "unsupported", "unknown");
const participants = array(
  record({
    tokens: option(constantFrom(1_024, 4_096, 8_192, 32_768), { nil: undefined }),
    declared: option(constantFrom(2_048, 16_384), { nil: undefined }),
    readiness: constantFrom("ready", "ready", "loading", "down"),
    isFull: boolean(),
    tools: word,
  }),
  { minLength: 1, maxLength: 6 },
);
const requests = record({
  model: constantFrom("*", "m", "model:m"),
  tokens: integer({ min: 0, max: 40_000 }),
  usesTools: boolean(),
});

test("a participant that is known to be unable gets a request only while none that is able can be reached", () => {
  assert(
    property(participants, requests, (all, request) => {
      const room = aRoom(
        ...all.map(({ tokens, declared, readiness, isFull, tools }, index) => {
          const one = aParticipant({ id: `p${index}`, model: "m", limit: 1 });
          one.declaredContext = declared;
          const others = { vision: "unknown", reasoning: "unknown", logprobs: "unknown" } as const;
          one.learned.facts = {
            context: tokens === undefined ? undefined : { tokens, from: "loaded" },
            features: { tools, structuredOutput: "unknown", ...others },
            answersAs: undefined,
          };
          updateFacts(one);
          one.load.active = isFull ? 1 : 0;
          one.paths.tunnel = { kind: "open", readiness, problem: "", sinceMs: 0 };
          return one;
        }),
      );
      const demand = {
        ...noDemand,
        mostTokens: request.tokens * (mostBytesPerToken / 4),
        leastTokens: () => request.tokens,
        uses: request.usesTools ? 1 : 0,
      };
      const query = plainQuery(parseSelector(request.model), "", () => 0, undefined, demand);
      const selection = selectParticipant(room, query);
      const reachable = [...room.participants.values()].filter(
        ({ paths: { tunnel } }) => "readiness" in tunnel && tunnel.readiness !== "down",
      );
      const fits = ({ learned }: Participant) => learned.usableTokens >= request.tokens;
      const lacks = ({ learned }: Participant) =>
        request.usesTools && learned.facts.features?.tools === "unsupported";
      const able = reachable.filter((one) => fits(one) && !lacks(one));
      if (selection.kind === "refused") {
        expect(reachable).toEqual([]);
        return;
      }
      const chosen =
        selection.kind === "selected" ? [selection.participant] : [...selection.candidates];
      const largest = Math.max(...reachable.map(({ learned }) => learned.usableTokens));
      const fitting = reachable.filter(fits);
      const rest = reachable.filter(({ learned }) => learned.usableTokens === largest);
      const best = [able, fitting, rest].find((some) => some.length > 0) ?? [];
      expect(best).toEqual(expect.arrayContaining(chosen));
    }),
    { numRuns: 2_000 },
  );
});

test("a request that every candidate can serve is not looked at", () => {
  const one = aParticipant({ id: "a", model: "m" });
  const leastTokens = () => {
    throw new Error("the prompt was read");
  };
  const demand = { ...noDemand, mostTokens: 1_000, leastTokens };
  const query = plainQuery(parseSelector("m"), "", () => 0, undefined, demand);
  expect(selectParticipant(aRoom(one), query)).toEqual({ kind: "selected", participant: one });
});

test("a change of what is known of a model counts for the next request", () => {
  const small = aParticipant({ id: "small", model: "m" });
  const large = aParticipant({ id: "large", model: "m" });
  const room = aRoom(small, large);
  const long = { ...noDemand, mostTokens: 5_000, leastTokens: () => 5_000 };
  const select = () =>
    selectParticipant(
      room,
      plainQuery(parseSelector("model:m"), "", () => 0, undefined, long),
    );
  expect(select()).toEqual({ kind: "selected", participant: small });
  small.declaredContext = 4_096;
  updateFacts(small);
  expect(select()).toEqual({ kind: "selected", participant: large });
});

test("a room's thousandth participant makes no request look at all of them", () => {
  const many = Array.from({ length: 1_000 }, (_, index) =>
    aParticipant({ id: `p${index}`, model: "m" }),
  );
  const room = aRoom(...many);
  const demand = { ...noDemand, mostTokens: 100, uses: 1 };
  const query = plainQuery(parseSelector("model:m"), "", () => 0, undefined, demand);
  selectParticipant(room, query);
  let reads = 0;
  for (const one of many) {
    const { learned } = one;
    Object.defineProperty(one, "learned", { get: () => (reads++, learned) });
  }
  selectParticipant(room, query);
  expect(reads).toBeLessThan(20);
});
