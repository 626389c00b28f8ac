import { assert, property, string } from "fast-check";
import { describe, expect, test } from "vitest";
import { CallIds, providerCallId } from "./call-ids.ts";

function idsOf(providerIds: string[], known: string[] = []): string[] {
  let created = 0;
  const ids = new CallIds(new Set(known), () => `toolu_${++created}`);
  return providerIds.map((id) => ids.clientId(id));
}

describe("the id of a call", () => {
  test("is the provider's where Anthropic's clients take it", () => {
    expect(idsOf(["call_1", "VmUs9oAg", "toolu_x"])).toEqual(["call_1", "VmUs9oAg", "toolu_x"]);
  });

  test("is a new one where the provider gives none, or one twice", () => {
    expect(idsOf(["", "call_0", "call_0", ""])).toEqual([
      "toolu_1",
      "call_0",
      "toolu_2",
      "toolu_3",
    ]);
  });

  test("is a new one where an earlier turn of the conversation had it", () => {
    expect(idsOf(["call_0"], ["call_0"])).toEqual(["toolu_1"]);
  });

  test("leads back to the provider's, whatever that is", () => {
    assert(
      property(string({ unit: "grapheme", minLength: 1, maxLength: 40 }), (id) => {
        const [clientId = ""] = idsOf([id]);
        expect(clientId).toMatch(/^[\w-]+$/);
        expect(providerCallId(clientId)).toBe(id.toWellFormed());
      }),
    );
  });

  test("is left alone when it only looks like one of these", () => {
    for (const id of ["toolu_rh_", "toolu_rh_a", "toolu_1"]) expect(providerCallId(id)).toBe(id);
  });
});
