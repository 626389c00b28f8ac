import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingInPython, PythonProgram } from "../support/programs/python.ts";
import type { Behaviour } from "../support/providers/fake-provider.ts";
import { openClosedRoom, openRoom } from "./room.ts";

const missing = missingInPython("anthropic");
const skipped = missing === undefined ? "" : ` (skipped: ${missing})`;

/** Its base URL is the room's without `/v1`, which it adds. */
const baseOf = ({ baseUrl }: { baseUrl: string }) => baseUrl.replace(/\/v1$/, "");

describe.skipIf(missing !== undefined)(`anthropic for Python${skipped}`, () => {
  let python: PythonProgram;
  beforeAll(() => {
    python = new PythonProgram(new URL("anthropic.py", import.meta.url));
  });
  afterAll(() => python.close());

  test("counts a prompt's tokens where there is only chat, marked as an estimate", async () => {
    await using room = await openRoom();
    const counted = await python.call("count", { base_url: baseOf(room), prompt: "to be or not" });
    expect(counted).toEqual({ tokens: expect.any(Number), said_of_it: "estimate" });
    expect(room.generations()).toBe(0);
  });

  test.each([429, 503])("repeats a request after the time that comes with a %i", async (status) => {
    const refusal: Behaviour = { kind: "status", status, headers: { "retry-after": "1" } };
    const refusals = [refusal];
    await using room = await openRoom(() => refusals.pop());
    const given = { base_url: baseOf(room), prompt: "to be", model: "ada" };
    expect(await python.call("ask", given)).toEqual({ text: "to be", retries: 1 });
    expect(room.generations()).toBe(2);
  });

  test("has an error with the hub's code for a stream that breaks off, behind its words", async () => {
    await using room = await openRoom(() => ({ kind: "cut", afterChunks: 5 }));
    const given = { base_url: baseOf(room), prompt: "to be or not to be" };
    expect(await python.call("stream_until_it_fails", given)).toMatchObject({
      ...{ kind: "APIStatusError", code: "provider_disconnected" },
      words: expect.arrayContaining(["to"]),
    });
  });

  test("is shown its base URL when it was given one that ends in v1", async () => {
    await using room = await openRoom();
    const failure = await python.call("fail", { base_url: room.baseUrl, prompt: "to be" });
    expect(failure).toMatchObject({
      ...{ kind: "NotFoundError", code: "not_found" },
      hint: expect.stringContaining(`${baseOf(room)}/ for a program that adds v1 itself`),
    });
  });

  test("takes the key of a closed room as API key and as token, and repeats nothing without one", async () => {
    await using room = await openClosedRoom({});
    const given = { base_url: baseOf(room), prompt: "to be" };
    for (const access of [{ api_key: room.key }, { api_key: null, auth_token: room.key }]) {
      const asked = await python.call("ask", { ...given, ...access });
      expect(asked).toMatchObject({ text: "to be" });
    }
    const refused = await python.call("fail", { ...given, api_key: "another" });
    expect(refused).toMatchObject({ kind: "AuthenticationError", code: "invalid_api_key" });
    expect(room.generations()).toBe(2);
  });
});
