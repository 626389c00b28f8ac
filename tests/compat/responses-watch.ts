import { createSseReader } from "@roomhub/protocol";
import { expect } from "vitest";
import { checkEvents, checkResponse } from "../support/documents/open-responses-rules.ts";

/** Observes what a client receives from `/responses`. */
export interface ResponsesWatch {
  fetch: typeof globalThis.fetch;
  /**
   * Checks the complete responses since the last call against the rules of Open Responses.
   *
   * @param isOurs - whether the hub made them; a provider's own responses are not checked
   */
  check(isOurs: boolean): void;
}

/** One 2xx response of `/responses`. */
interface WatchedAnswer {
  isStream: boolean;
  body: string;
}

export function watchResponses(): ResponsesWatch {
  let answers: WatchedAnswer[] = [];
  return {
    async fetch(input, init) {
      const response = await fetch(input, init);
      const url = input instanceof Request ? input.url : String(input);
      if (!response.ok || response.body === null || !url.endsWith("/responses")) return response;
      const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
      return readAlong(response, (body) => answers.push({ isStream: isStream === true, body }));
    },
    check(isOurs) {
      const seen = answers;
      answers = [];
      if (isOurs) for (const answer of seen) checkAnswer(answer);
    },
  };
}

/** No tee: a client's disconnect must reach the hub. */
function readAlong(response: Response, onEnd: (body: string) => void): Response {
  const decoder = new TextDecoder();
  let body = "";
  const reading = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      body += decoder.decode(chunk, { stream: true });
      controller.enqueue(chunk);
    },
    flush: () => onEnd(body),
  });
  const { status, statusText, headers } = response;
  return new Response(response.body?.pipeThrough(reading), { status, statusText, headers });
}

function checkAnswer({ isStream, body }: WatchedAnswer): void {
  expect(isStream ? checkEvents(eventsOf(body)) : checkResponse(JSON.parse(body))).toEqual([]);
}

function eventsOf(body: string): unknown[] {
  const events: unknown[] = [];
  const reader = createSseReader(({ data }) => {
    events.push(data === "[DONE]" ? data : JSON.parse(data));
  });
  reader.feed(body);
  return events;
}
