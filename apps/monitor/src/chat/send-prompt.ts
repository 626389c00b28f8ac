import { errorFromResponse, type Invite } from "@roomhub/client";
import { createSseReader, parseJson, percentDecoded } from "@roomhub/protocol";
import type { AnswerListener, SendMessages } from "./chat.ts";

/** The name under which requests of this page are counted in an open room. */
const anyKey = "as-monitor";

/** Sends conversations to a room over its OpenAI API. */
export function promptSender({
  hubUrl,
  room,
  key,
}: Invite & { key?: string | undefined }): SendMessages {
  return async ({ selector, messages, signal }, listener) => {
    const response = await fetch(`${hubUrl}/rooms/${room}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key ?? anyKey}` },
      body: JSON.stringify({ model: selector, stream: true, messages }),
      signal,
    }).catch(() => {
      // The browser's own message names neither the hub nor the cause.
      throw new Error(`No connection to the hub at ${hubUrl}.`);
    });
    listener.onHead(headOf(response.headers));
    if (!response.ok || response.body === null) throw await refusal(response);
    if (response.headers.get("content-type")?.startsWith("text/event-stream") === true) {
      await readStream(response.body, listener);
    } else readCompletion(await response.text(), listener);
  };
}

function headOf(headers: Headers) {
  const participantId = headers.get("x-roomhub-participant");
  const model = headers.get("x-roomhub-model");
  const isKnown = participantId !== null && model !== null;
  return {
    requestId: headers.get("x-request-id") ?? undefined,
    from: isKnown
      ? { participantId: percentDecoded(participantId), model: percentDecoded(model) }
      : undefined,
  };
}

async function refusal(response: Response): Promise<Error> {
  const { message, hint } = errorFromResponse(response, await response.text());
  // A browser has no command line.
  const isCommand = hint === undefined || /\broomhub [a-z]/.test(hint);
  return new Error(isCommand ? message : `${message} Next: ${hint}`);
}

/** @throws Error for an error frame, and for a stream without an end */
async function readStream(
  body: ReadableStream<Uint8Array>,
  listener: AnswerListener,
): Promise<void> {
  let hasEnded = false;
  const sse = createSseReader(({ data }) => {
    if (data === "[DONE]") hasEnded = true;
    else readChunk(data, listener);
  });
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
    if (done || value === undefined) break;
    sse.feed(decoder.decode(value, { stream: true }));
  }
  if (!hasEnded) throw new Error("The response was cut off.");
}

interface Content {
  content?: unknown;
  /** of the two fields that servers use, either */
  reasoning_content?: unknown;
  reasoning?: unknown;
}

function readChunk(data: string, listener: AnswerListener): void {
  const chunk = parseJson(data) as
    | { choices?: { delta?: Content }[]; error?: { message?: unknown } }
    | undefined;
  if (chunk?.error !== undefined) throw new Error(String(chunk.error.message));
  readContent(chunk?.choices?.[0]?.delta, listener);
}

function readCompletion(body: string, listener: AnswerListener): void {
  const response = parseJson(body) as { choices?: { message?: Content }[] } | undefined;
  readContent(response?.choices?.[0]?.message, listener);
}

function readContent(content: Content | undefined, listener: AnswerListener): void {
  const reasoning = content?.reasoning_content ?? content?.reasoning;
  if (typeof reasoning === "string" && reasoning !== "") listener.onReasoning(reasoning);
  if (typeof content?.content === "string") listener.onText(content.content);
}
