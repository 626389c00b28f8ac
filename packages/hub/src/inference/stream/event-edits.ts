import { parseObject, type StreamMarker } from "@roomhub/protocol";
import { blankLine } from "./event-boundary.ts";
import { errorIn, messagesIn, type StreamEvent } from "./stream-status.ts";

/** What does not reach the client as the provider sent it. Contract §4 and §6. */
export interface StreamEdits {
  /** The hub requested a chat stream's usage and the client did not: the chunk with nothing else in it is not relayed. */
  hidesUsage: boolean;
  /** Sees that chunk. */
  onHidden?: ((chunk: StreamEvent) => void) | undefined;
  /** Takes the participant's secrets out of an error; undefined when it has none. */
  scrub: ((text: string) => string) | undefined;
}

export const noEdits: StreamEdits = Object.freeze({ hidesUsage: false, scrub: undefined });

const choicesKey = Buffer.from('"choices"');
const errorWord = Buffer.from("error");
const openBracket = 0x5b;
const closeBracket = 0x5d;
const colon = 0x3a;
const space: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/**
 * Whether any event here may have to be changed. Called for each batch of a stream that has edits, so it only searches
 * bytes: for `"choices":[]` about 25 ns per event, for "error" about 100.
 */
export function mayNeedEdits(events: Buffer, { hidesUsage, scrub }: StreamEdits): boolean {
  if (scrub !== undefined && events.includes(errorWord)) return true;
  return hidesUsage && hasEmptyChoices(events);
}

/**
 * Whole events with the edits made. All other bytes stay as they are.
 *
 * @returns parts of `events`, and new buffers for what was scrubbed
 */
export function editEvents(events: Buffer, marker: StreamMarker, edits: StreamEdits): Buffer[] {
  const kept: Buffer[] = [];
  let keptFrom = 0;
  let from = 0;
  for (const end of eventEnds(events)) {
    const event = events.subarray(from, end);
    const edited = editEvent(event, marker, edits);
    if (edited !== event) {
      if (from > keptFrom) kept.push(events.subarray(keptFrom, from));
      if (edited !== undefined) kept.push(edited);
      keptFrom = end;
    }
    from = end;
  }
  if (keptFrom < events.length) kept.push(events.subarray(keptFrom));
  return kept;
}

/** @returns the same buffer when nothing is to be changed, undefined when the event is to be left out */
function editEvent(event: Buffer, marker: StreamMarker, edits: StreamEdits): Buffer | undefined {
  if (!mayNeedEdits(event, edits)) return event;
  const { hidesUsage, scrub } = edits;
  for (const { event: name, data } of messagesIn(event.toString("latin1"))) {
    const json = parseObject(data);
    if (json === undefined) continue;
    if (hidesUsage && isUsageChunk(json)) {
      edits.onHidden?.(json);
      return undefined;
    }
    if (scrub === undefined || !carriesError(json, name, marker)) continue;
    const text = event.toString("utf8");
    const scrubbed = scrub(text);
    return scrubbed === text ? event : Buffer.from(scrubbed);
  }
  return event;
}

/** Also a Responses stream that ended with `response.failed` says why. */
function carriesError(json: StreamEvent, name: string | undefined, marker: StreamMarker): boolean {
  return errorIn(json, name, marker) !== undefined || json["type"] === "response.failed";
}

function isUsageChunk({ choices, usage }: StreamEvent): boolean {
  return (
    Array.isArray(choices) && choices.length === 0 && typeof usage === "object" && usage !== null
  );
}

/** Looks at each `[`, since a single byte is found far faster than a word: a chunk has few of them. */
function hasEmptyChoices(events: Buffer): boolean {
  for (let at = events.indexOf(openBracket); at >= 0; at = events.indexOf(openBracket, at + 1)) {
    if (events[afterSpace(events, at + 1)] === closeBracket && isBehindChoices(events, at)) {
      return true;
    }
  }
  return false;
}

function isBehindChoices(events: Buffer, bracketAt: number): boolean {
  const colonAt = beforeSpace(events, bracketAt - 1);
  if (events[colonAt] !== colon) return false;
  const end = beforeSpace(events, colonAt - 1) + 1;
  return events.subarray(Math.max(0, end - choicesKey.length), end).equals(choicesKey);
}

function afterSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (space.has(bytes[at])) at++;
  return at;
}

function beforeSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (space.has(bytes[at])) at--;
  return at;
}

/** Offsets behind each blank line, and the end of what has none. */
function* eventEnds(events: Buffer): Iterable<number> {
  let last = 0;
  for (const match of events.toString("latin1").matchAll(blankLine)) {
    last = match.index + match[0].length;
    yield last;
  }
  if (last < events.length) yield events.length;
}
