import { expect, test } from "vitest";
import { makeWorld } from "../test-context.fixture.ts";
import type { Examination } from "./check.ts";
import { providerCheck, slotsText } from "./provider-check.ts";

const busy = [{ is_processing: true }, { is_processing: false }];

/** @param answers - by path; any other is a 404 */
async function slotsOf(answers: Record<string, unknown>, endpoint = "http://127.0.0.1:8080") {
  const paths: string[] = [];
  const fetch = async (url: string) => {
    const { pathname } = new URL(url);
    paths.push(pathname);
    const answer = answers[pathname];
    return answer === undefined ? new Response("", { status: 404 }) : Response.json(answer);
  };
  const { context } = makeWorld({ fetch });
  return { text: await slotsText(context, endpoint, {}), paths };
}

test("the slots of a llama-server are shown, and how many are busy", async () => {
  const props = { total_slots: 2, endpoint_slots: true, is_sleeping: false };
  const { text } = await slotsOf({ "/props": props, "/slots": busy });
  expect(text).toBe("2 slots, 1 busy");
});

test("a llama-server that sleeps is not woken for its slots", async () => {
  const props = { total_slots: 1, endpoint_slots: true, is_sleeping: true };
  const { text, paths } = await slotsOf({ "/props": props, "/slots": busy });
  expect(text).toBe("1 slot, sleeping");
  expect(paths).toEqual(["/props"]);
});

test.each([
  ["without a list of slots", { "/props": { total_slots: 4, endpoint_slots: false } }],
  ["whose list is none", { "/props": { total_slots: 4, endpoint_slots: true }, "/slots": {} }],
])("of a llama-server %s only the number is shown", async (_what, answers) => {
  expect((await slotsOf(answers)).text).toBe("4 slots");
});

test("a server without slots shows none, nor does an invalid endpoint", async () => {
  expect((await slotsOf({})).text).toBeUndefined();
  expect((await slotsOf({ "/props": { total_slots: "many" } })).text).toBeUndefined();
  expect((await slotsOf({}, "ftp://x")).text).toBeUndefined();
});

test("slots are read beside the base path, as llama.cpp has them", async () => {
  const props = { total_slots: 2 };
  const { text } = await slotsOf({ "/gpu/props": props }, "http://127.0.0.1:8080/gpu/v1");
  expect(text).toBe("2 slots");
});

test("whisper.cpp is shown with what it is for", async () => {
  const headers = { server: "whisper.cpp" };
  const fetch = async () => new Response("File Not Found (/v1/models)", { status: 404, headers });
  const endpoint = "http://127.0.0.1:8080";
  const { context } = makeWorld({ fetch });
  const exam = { context, headers: {}, endpoint } as Examination;
  const { details } = await providerCheck.run(exam, AbortSignal.timeout(1_000));
  expect(details).toEqual([
    `model server at ${endpoint}: lists no models; can serve transcription`,
  ]);
});
