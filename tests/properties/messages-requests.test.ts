import { array, assert, constantFrom, jsonValue, nat, oneof, property, record } from "fast-check";
import { expect, test } from "vitest";
import { messagesTranslation } from "../../packages/provider/src/messages/messages-translation.ts";
import { propertyRuns, propertyTimeoutMs, SEEDS } from "../support/property-runs.ts";
import { claudeCodeRequest } from "./claude-code-request.ts";
import { UntranslatableError } from "../../packages/provider/src/translation/placed-object.ts";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

interface Place {
  parent: Json[] | { [key: string]: Json };
  key: string | number;
}

/** Every place in a value, the value itself apart. */
function placesIn(value: Json): Place[] {
  if (typeof value !== "object" || value === null) return [];
  const keys: (string | number)[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return keys.flatMap((key) => {
    const inside = (value as Record<string | number, Json>)[key] ?? null;
    return [{ parent: value, key }, ...placesIn(inside)];
  });
}

/** What stands at one place is replaced, removed, doubled, or put where something else stood. */
const change = record({
  place: nat(),
  from: nat(),
  how: constantFrom("replace", "remove", "double", "move"),
  value: oneof(
    jsonValue({ maxDepth: 2 }),
    constantFrom("user", "assistant", "system", "text", "tool_use", "tool_result", "image", "", 0),
  ),
});

function mutated(changes: readonly Record<string, unknown>[]): Json {
  const body = structuredClone(claudeCodeRequest) as unknown as Json;
  for (const one of changes) {
    const places = placesIn(body);
    const target = places[(one["place"] as number) % places.length];
    const source = places[(one["from"] as number) % places.length];
    if (target === undefined || source === undefined) break;
    const { parent, key } = target;
    const other = (source.parent as Record<string | number, Json>)[source.key] ?? null;
    apply(parent, key, one["how"] as string, one["value"] as Json, structuredClone(other));
  }
  return body;
}

function apply(parent: Place["parent"], key: Place["key"], how: string, value: Json, other: Json) {
  const values = parent as Record<string | number, Json>;
  if (how === "replace") values[key] = value;
  else if (how === "move") values[key] = other;
  else if (Array.isArray(parent)) {
    if (how === "remove") parent.splice(Number(key), 1);
    else parent.splice(Number(key), 0, structuredClone(parent[Number(key)] ?? null));
  } else if (how === "remove") delete values[key];
}

interface ChatMessage {
  role: string;
  content: unknown;
  tool_calls?: { id: string }[];
  tool_call_id?: string;
}

/** What every model server expects of a conversation. */
function checkConversation(messages: readonly ChatMessage[]): void {
  for (const [index, { role, tool_calls: calls = [] }] of messages.entries()) {
    if (role === "system") expect(index).toBe(0);
    if (role === "assistant") expect(messages[index - 1]?.role).not.toBe("assistant");
    const results = messages.slice(index + 1, index + 1 + calls.length);
    expect(results.map((result) => result.tool_call_id)).toEqual(calls.map(({ id }) => id));
    expect(results.every((result) => typeof result.content === "string")).toBe(true);
  }
  const called = messages.reduce((sum, { tool_calls: calls = [] }) => sum + calls.length, 0);
  expect(messages.filter(({ role }) => role === "tool")).toHaveLength(called);
}

test("a request as Claude Code sends it is translated as it is", () => {
  const body = Buffer.from(JSON.stringify(claudeCodeRequest));
  const { chat } = messagesTranslation.translate(body, { program: undefined });
  checkConversation(JSON.parse(JSON.stringify(chat.messages)) as ChatMessage[]);
  expect(JSON.stringify(chat)).not.toMatch(/billing-header|cache_control|ephemeral|signature/);
});

test.for(SEEDS)(
  "whatever a request contains, it is translated into a conversation in order or refused with a place (seed %i)",
  { timeout: propertyTimeoutMs },
  (seed) => {
    let translated = 0;
    assert(
      property(array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const body = Buffer.from(JSON.stringify(mutated(changes)));
        try {
          const { chat } = messagesTranslation.translate(body, { program: undefined });
          checkConversation(JSON.parse(JSON.stringify(chat.messages)) as ChatMessage[]);
          translated++;
        } catch (error) {
          if (!(error instanceof UntranslatableError)) throw error;
          expect(error.message).not.toBe("");
        }
      }),
      propertyRuns(seed, 5_000),
    );
    expect(translated).toBeGreaterThan(0);
  },
);
