import {
  createSseReader,
  hasGeneratedContent,
  readUsage,
  type StreamMarker,
  type Usage,
  GENERATED_CONTENT,
  isObject,
  parseObject,
  type JsonObject,
} from "@roomhub/protocol";

/** Events that open a stream and are no content, however long. */
const openings: Record<StreamMarker, RegExp | undefined> = {
  chat: undefined,
  none: undefined,
  media: undefined,
  responses: /response\.(?:created|queued|in_progress)\b/,
  messages: /\bmessage_start\b/,
};
/** Where an event's type stands, in every provider's spelling. */
const typeWithinBytes = 1_024;
/** An opening event repeats the request's instructions and tools, which may be long. */
const maxOpeningBytes = 256 * 1_024;

/** Looks at a stream's events until the first content, and remembers what they say of the response they began. */
export class FirstContent {
  readonly #marker: StreamMarker;
  #atMs: number | undefined;
  #response: Record<string, unknown> | undefined;
  #usage: Usage = {};
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

  get responseId(): string | undefined {
    const id = this.#response?.["id"];
    return typeof id === "string" && id !== "" ? id : undefined;
  }

  /** of a messages stream: Anthropic counts the input before the first content */
  get usage(): Usage {
    return this.#usage;
  }

  /** Whole events, or the rest of one whose pieces were seen. */
  seeWhole(bytes: Buffer, nowMs: number): void {
    if (this.#atMs !== undefined) return;
    const whole = this.#opening === undefined ? bytes : Buffer.concat([...this.#opening, bytes]);
    this.#opening = undefined;
    for (const data of eventData(whole.toString("utf8"))) {
      const event = parseObject(data);
      if (event === undefined) continue;
      this.#noteOpening(event);
      if (hasGeneratedContent(event, this.#marker)) this.#atMs ??= nowMs;
    }
  }

  /** A piece of an event too long to be held: content, unless it opens the response. */
  seePiece(bytes: Buffer, nowMs: number): void {
    if (this.#atMs !== undefined) return;
    if (this.#opening === undefined) {
      const start = bytes.toString("latin1", 0, typeWithinBytes);
      if (openings[this.#marker]?.test(start) !== true) {
        this.#atMs = nowMs;
        return;
      }
      this.#opening = [];
    }
    this.#openingLength += bytes.length;
    if (this.#openingLength <= maxOpeningBytes) this.#opening.push(Buffer.from(bytes));
  }

  #noteOpening(event: JsonObject): void {
    const { type, response, message } = event;
    if (this.#marker === "responses" && isOpening(type) && isObject(response)) {
      this.#response ??= response;
    }
    if (this.#marker === "messages" && type === "message_start" && isObject(message)) {
      this.#usage = readUsage(message["usage"]);
    }
  }
}

/** The data of each whole event in `text`. */
export function eventData(text: string): string[] {
  const found: string[] = [];
  createSseReader((message) => found.push(message.data)).feed(text);
  return found;
}

function isOpening(type: unknown): boolean {
  return type === "response.created" || type === "response.in_progress";
}

/** Content and the rest of its line: an event counts once, whatever kinds of content it has. */
function lineWith(marker: StreamMarker): RegExp {
  return new RegExp(`(?:${GENERATED_CONTENT[marker].source})[^\\r\\n]*`, "g");
}

const lines: Record<StreamMarker, RegExp> = {
  chat: lineWith("chat"),
  none: lineWith("none"),
  media: lineWith("media"),
  responses: lineWith("responses"),
  messages: lineWith("messages"),
};

/** How many of these events carry generated content: about one per token, at most model servers. Parses no JSON. */
export function countContentEvents(events: Buffer, marker: StreamMarker): number {
  const text = events.toString("latin1");
  const line = lines[marker];
  let count = 0;
  // The last test finds nothing, and so begins anew next time.
  while (line.test(text)) count++;
  return count;
}
