import { errorFromResponse, type Invite } from "@roomhub/client";
import { createSseReader } from "@roomhub/protocol";
import type { LaneListener, SendPrompt } from "./arena.ts";

/** The name under which requests of this page are counted. */
const apiKey = "as-monitor";

/** Sends prompts to a room as any client does. */
export function promptSender({ hubUrl, room }: Invite): SendPrompt {
  return async ({ selector, prompt, signal }, listener) => {
    const response = await fetch(`${hubUrl}/rooms/${room}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({
        model: selector,
        stream: true,
        messages: [{ role: "user", content: prompt }],
      }),
      signal,
    });
    const requestId = response.headers.get("x-request-id");
    if (requestId !== null) listener.onRequestId(requestId);
    if (!response.ok || response.body === null) throw await refusal(response);
    if (response.headers.get("content-type")?.startsWith("text/event-stream") === true) {
      await readStream(response.body, listener);
    } else listener.onText(messageOf(await response.text()));
  };
}

async function refusal(response: Response): Promise<Error> {
  const { message, hint } = errorFromResponse(response, await response.text());
  return new Error(hint === undefined ? message : `${message} Next: ${hint}`);
}

/** @throws Error for an error frame, and for a stream without an end */
async function readStream(body: ReadableStream<Uint8Array>, listener: LaneListener): Promise<void> {
  let hasEnded = false;
  const sse = createSseReader(({ data }) => {
    if (data === "[DONE]") hasEnded = true;
    else listener.onText(textOf(data));
  });
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    sse.feed(decoder.decode(value, { stream: true }));
  }
  if (!hasEnded) throw new Error("The response was cut off");
}

interface Chunk {
  choices?: { delta?: { content?: unknown; reasoning_content?: unknown } }[];
  error?: { message?: unknown };
}

/** The content of a chunk; reasoning counts, since it is what the first token is measured by. */
function textOf(data: string): string {
  const chunk = parsed(data) as Chunk | undefined;
  if (chunk?.error !== undefined) throw new Error(String(chunk.error.message));
  const delta = chunk?.choices?.[0]?.delta;
  return [delta?.reasoning_content, delta?.content]
    .filter((text): text is string => typeof text === "string")
    .join("");
}

function messageOf(body: string): string {
  const response = parsed(body) as { choices?: { message?: { content?: unknown } }[] } | undefined;
  const content = response?.choices?.[0]?.message?.content;
  return typeof content === "string" ? content : "";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: there is nothing to show.
    return undefined;
  }
}
