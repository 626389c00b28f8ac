import * as fc from "fast-check";
import { expect, test } from "vitest";
import { participantIdProblem, ParticipantId } from "./participant.ts";

test.each([
  "a",
  "7",
  "ana-llama3",
  "ana.llama_3:8b@home",
  "llama3:latest",
  "anything",
  "models",
  "model",
  "A".repeat(100),
])("%s is a valid id", (id) => {
  expect(participantIdProblem(id)).toBeUndefined();
});

test.each(["*", "any", "Any", "ANY", "model:", "model:llama3", "Model:llama3", "MODEL:*"])(
  "%s is reserved for the model field",
  (id) => {
    expect(participantIdProblem(id)).toContain("reserved");
  },
);

test.each([
  ["nothing", ""],
  ["101 characters", "a".repeat(101)],
  ["a dot in front", ".hidden"],
  ["two dots", ".."],
  ["a dash in front", "-rf"],
  ["a colon in front", ":a"],
  ["a slash", "meta/llama"],
  ["a percent sign", "a%2fb"],
  ["a question mark", "a?b"],
  ["a hash", "a#b"],
  ["a backslash", "a\\b"],
  ["a space", "a b"],
  ["a line feed at the end", "a\n"],
  ["a NUL", "a\u0000"],
  ["a letter beyond ASCII", "bär"],
  ["an invisible character", "a\u200bb"],
  ["the prototype's name", "__proto__"],
])("an id with %s is refused", (_title, id) => {
  expect(participantIdProblem(id)).toBeTypeOf("string");
});

test("an accepted id is unchanged as a path segment and as a selector", () => {
  const id = fc.oneof(fc.string({ maxLength: 8 }), fc.stringMatching(/^[A-Za-z0-9._:@*-]{1,12}$/));
  fc.assert(
    fc.property(id, (text) => {
      if (!ParticipantId.safeParse(text).success) return;
      expect(new URL(`http://hub/rooms/${text}/x`).pathname).toBe(`/rooms/${text}/x`);
      expect(["*", "any"]).not.toContain(text.toLowerCase());
      expect(text.toLowerCase().startsWith("model:")).toBe(false);
    }),
    { numRuns: 2_000 },
  );
});

test("a message about an id is safe to print", () => {
  const id = fc.string({ unit: "binary", maxLength: 60 });
  fc.assert(
    fc.property(fc.constantFrom("", "model:"), id, (start, rest) => {
      expect(participantIdProblem(start + rest) ?? "").not.toMatch(
        /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u,
      );
    }),
  );
});
