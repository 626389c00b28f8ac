import { describe, expect, test } from "vitest";
import { type ResponseTiming, arrivalOf, timeResponse } from "./request-check.ts";

const role = '{"choices":[{"delta":{"role":"assistant","content":""}}]}';
const content = '{"choices":[{"delta":{"content":"Hi"}}]}';
const reasoning = '{"choices":[{"delta":{"reasoning_content":"Hm"}}]}';
const finish = '{"choices":[{"delta":{},"finish_reason":"length"}]}';

/** @param pieces - each with when it comes, ms */
async function arrive(
  pieces: readonly [atMs: number, text: string][],
  type = "text/event-stream",
): Promise<ResponseTiming> {
  let nowMs = 40;
  const waiting = [...pieces];
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const next = waiting.shift();
        if (next === undefined) return controller.close();
        nowMs = next[0];
        controller.enqueue(new TextEncoder().encode(next[1]));
      },
    },
    { highWaterMark: 0 },
  );
  const response = new Response(body, { headers: { "content-type": type } });
  return timeResponse(response, () => nowMs);
}

test.each([
  ["text", content],
  ["reasoning", reasoning],
])("the first token is the first %s, and not the role before it", async (_what, first) => {
  const arrival = await arrive([
    [50, `data: ${role}\n\n`],
    [90, `data: ${first}\n\n`],
    [200, `data: ${content}\n\n`],
    [300, `data: ${finish}\n\ndata: [DONE]\n\n`],
  ]);
  expect(arrival).toEqual({
    ...{ byteMs: 40, tokenMs: 90, endMs: 300 },
    ...{ isStream: true, failure: undefined },
  });
});

test("a response without text has no first token, and a truncated one is a failure", async () => {
  expect(await arrive([[50, `data: ${finish}\n\n`]])).toMatchObject({ tokenMs: undefined });
  const broken = await arrive([[50, `data: ${content}\n\n`]]);
  expect(broken.failure).toContain("truncated");
});

test("a JSON response is not a stream", async () => {
  const whole: [number, string][] = [[70, '{"choices":[{"message":{"content":"Hi"}}]}']];
  expect(await arrive(whole, "application/json")).toMatchObject({ isStream: false, tokenMs: 70 });
});

describe("the pace", () => {
  const streamed: ResponseTiming = {
    ...{ byteMs: 40, tokenMs: 100, endMs: 500 },
    ...{ isStream: true, failure: undefined },
  };
  const held = { ...streamed, byteMs: 495, tokenMs: 498 };
  const hub = { ttftMs: 80, durationMs: 480 };
  const quick = { ttftMs: 80, durationMs: 279 };

  test.each<[string, ResponseTiming, typeof hub, ReturnType<typeof arrivalOf>]>([
    ["as it left the hub", streamed, hub, "incrementally"],
    ["bunched up a little on the way", { ...streamed, tokenMs: 400 }, hub, "incrementally"],
    ["in one go, long after it left the hub", held, hub, "at once"],
    ["in one go, as it left the hub", held, { ttftMs: 470, durationMs: 480 }, undefined],
    ["too quickly to tell", held, quick, undefined],
    ["just slowly enough", held, { ...quick, durationMs: 280 }, "at once"],
    ["without text", { ...held, tokenMs: undefined }, hub, undefined],
    ["as JSON", { ...held, isStream: false }, hub, undefined],
  ])("of a response that arrived %s", (_how, arrival, seen, pace) => {
    expect(arrivalOf(arrival, seen)).toBe(pace);
  });
});
