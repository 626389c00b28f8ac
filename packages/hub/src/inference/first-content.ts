import { createSseReader, type StreamMarker } from "@roomhub/protocol";

const opening = /response\.(?:created|queued|in_progress)\b/;
/** Where an event's type stands, in every provider's spelling. */
const typeWithinBytes = 1_024;
/** An opening event repeats the request's instructions and tools, which may be long. */
const maxOpeningBytes = 256 * 1_024;

/** Looks at a stream's events until the first content, and remembers the response object they began with. */
export class FirstContent {
  readonly #marker: StreamMarker;
  #atMs: number | undefined;
  #response: Record<string, unknown> | undefined;
  /** what came of a long opening event */
  #opening: Buffer[] | undefined;
  #openingLength = 0;

  constructor(marker: StreamMarker) {
    this.#marker = marker;
  }

  /** ms, on the clock of its callers; undefined until there was any content */
  get atMs(): number | undefined {
    return this.#atMs;
  }

  /** of a Responses stream, as first relayed */
  get response(): Record<string, unknown> | undefined {
    return this.#response;
  }

  /** Whole events, or the rest of one whose pieces were seen. */
  seeWhole(bytes: Buffer, nowMs: number): void {
    if (this.#atMs !== undefined) return;
    const whole = this.#opening === undefined ? bytes : Buffer.concat([...this.#opening, bytes]);
    this.#opening = undefined;
    for (const data of eventData(whole.toString("utf8"))) {
      if (this.#marker === "responses") this.#response ??= responseIn(data);
      if (hasContent(data, this.#marker)) this.#atMs ??= nowMs;
    }
  }

  /** A piece of an event too long to be held: content, unless it opens a response. */
  seePiece(bytes: Buffer, nowMs: number): void {
    if (this.#atMs !== undefined) return;
    if (this.#opening === undefined) {
      const start = bytes.toString("latin1", 0, typeWithinBytes);
      if (this.#marker !== "responses" || !opening.test(start)) {
        this.#atMs = nowMs;
        return;
      }
      this.#opening = [];
    }
    this.#openingLength += bytes.length;
    if (this.#openingLength <= maxOpeningBytes) this.#opening.push(Buffer.from(bytes));
  }
}

/**
 * Whether one event's data carries generated content of any kind: text, reasoning, a tool call. A role-only chunk or
 * `response.created` does not. Contract §5.
 */
function hasContent(data: string, marker: StreamMarker): boolean {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch {
    return false; // `[DONE]`, or a provider's noise
  }
  if (typeof event !== "object" || event === null) return false;
  return marker === "responses" ? hasResponsesContent(event) : hasChatContent(event);
}

function responseIn(data: string): Record<string, unknown> | undefined {
  try {
    const { type, response } = JSON.parse(data) as { type?: unknown; response?: unknown };
    if (type !== "response.created" && type !== "response.in_progress") return undefined;
    return typeof response === "object" && response !== null
      ? (response as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined; // not JSON: a provider's noise passes, it is not ours to judge
  }
}

/** The data of each whole event in `text`. */
export function eventData(text: string): string[] {
  const found: string[] = [];
  createSseReader((message) => found.push(message.data)).feed(text);
  return found;
}

function hasResponsesContent(event: object): boolean {
  const { type, delta } = event as { type?: unknown; delta?: unknown };
  return typeof type === "string" && type.endsWith(".delta") && isFilled(delta);
}

function hasChatContent(event: object): boolean {
  const { choices } = event as { choices?: unknown };
  return Array.isArray(choices) && choices.some(isChoiceWithContent);
}

const contentFields = [
  "content",
  "reasoning_content",
  "reasoning",
  "refusal",
  "tool_calls",
  "function_call",
  "audio",
];

function isChoiceWithContent(choice: unknown): boolean {
  if (typeof choice !== "object" || choice === null) return false;
  const { delta, text } = choice as { delta?: unknown; text?: unknown };
  if (isFilled(text)) return true;
  if (typeof delta !== "object" || delta === null) return false;
  return contentFields.some((field) => isFilled((delta as Record<string, unknown>)[field]));
}

function isFilled(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value !== undefined && value !== null && value !== "";
}
