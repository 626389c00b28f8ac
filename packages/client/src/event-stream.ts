import { createSseReader, EVENT_NAMES, type HubEvent } from "@roomhub/protocol";
import { type HubConnection, openStream } from "./connection.ts";
import { HubUnreachableError, RoomhubError } from "./errors.ts";

export interface EventStreamOptions {
  /** Aborting ends the iteration without an error. */
  signal?: AbortSignal | undefined;
  /** Open the stream again when it breaks. Default true. */
  reconnect?: boolean | undefined;
  /**
   * Told once the stream stands, also after each reconnect: what was listed before this may have changed unseen. What it
   * throws ends the iteration.
   */
  onOpen?: (() => void) | undefined;
  /** Told when a stream broke and when it is tried again. */
  onDisconnect?: ((reason: string, retryInMs: number) => void) | undefined;
}

/** The hub sends a comment every 15 s; three missed mean the path is dead though no socket says so. */
const silenceLimitMs = 50_000;
/** The hub's ids are `<bootId>-<n>`. What is not like them may not fit into a header. */
const sendableId = /^[\x21-\x7e]{1,200}$/;
/** Longer than any event of the hub: specs and config are 16 KiB each. */
const maxEventCharacters = 1024 * 1024;
const defaultRetryMs = 2_000;
const longestRetryMs = 15_000;
const knownEvents = new Set<string>(EVENT_NAMES);

/**
 * Events as they happen, in the dotted spelling, without replay: what falls into a gap is gone. Each reconnect names the
 * last event that came, so that a young room does not begin with its `room.created` again. Contract §5.
 *
 * Buffers the events of one network chunk and no more. A consumer that is slower than the hub for long is disconnected
 * by the hub (contract §6, 1 MiB), which looks like any other break.
 *
 * The first attempt fails loudly: a wrong URL must not look like a quiet room. After that breaks are waited out with the
 * server's `retry`, doubling to 15 s, until the signal aborts or the hub refuses in a way waiting cannot cure.
 *
 * @throws RoomhubError, HubUnreachableError
 */
export async function* readEvents(
  connection: HubConnection,
  path: string,
  options: EventStreamOptions,
): AsyncGenerator<HubEvent, void, void> {
  const { signal, reconnect = true } = options;
  let retryMs = defaultRetryMs;
  let failures = 0;
  let hasOpened = false;
  let isCallersTurn = false;
  let lastEventId: string | undefined;
  while (!isAborted(signal)) {
    let reason = "the hub ended the stream";
    try {
      yield* readOnce(connection, path, lastEventId, signal, {
        onRetry: (ms) => {
          retryMs = Math.min(Math.max(ms, 50), longestRetryMs);
        },
        onId: (id) => {
          lastEventId = sendableId.test(id) ? id : undefined;
        },
        onOpen: () => {
          hasOpened = true;
          failures = 0;
          // Stays set when the callback throws.
          isCallersTurn = true;
          options.onOpen?.();
          isCallersTurn = false;
        },
      });
      if (!reconnect) return;
    } catch (error) {
      // A bug of the caller's is no break, and another connection does not cure it.
      if (isCallersTurn) throw error;
      if (isAborted(signal)) return;
      if (!hasOpened || !reconnect || !isWorthRetrying(error)) throw error;
      reason = error instanceof Error ? error.message : String(error);
    }
    const waitMs = Math.min(retryMs * 2 ** failures++, longestRetryMs);
    options.onDisconnect?.(reason, waitMs);
    await sleep(waitMs, signal);
  }
}

interface AttemptListeners {
  onOpen: () => void;
  onRetry: (ms: number) => void;
  onId: (id: string) => void;
}

async function* readOnce(
  connection: HubConnection,
  path: string,
  lastEventId: string | undefined,
  signal: AbortSignal | undefined,
  listeners: AttemptListeners,
): AsyncGenerator<HubEvent, void, void> {
  const silence = new AbortController();
  const stop = signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]);
  const body = await unlessSilent(silence, openStream(connection, path, lastEventId, stop), () => {
    const cause = new Error(`no answer in ${silenceLimitMs} ms`);
    return new HubUnreachableError(connection.hubUrl, cause);
  });
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const arrived: HubEvent[] = [];
  const sse = createSseReader((message) => {
    if (message.id !== undefined) listeners.onId(message.id);
    const event = parseEvent(message.event, message.data);
    if (event !== undefined) arrived.push(event);
  }, listeners.onRetry);
  let unfinished = 0;
  try {
    listeners.onOpen();
    for (;;) {
      const { done, value } = await unlessSilent(silence, reader.read(), fellSilent);
      if (done) return;
      const text = decoder.decode(value, { stream: true });
      const lastEnd = text.lastIndexOf("\n\n");
      unfinished = lastEnd === -1 ? unfinished + text.length : text.length - lastEnd;
      if (unfinished > maxEventCharacters) throw new Error("the hub sent an event without an end");
      sse.feed(text);
      yield* arrived.splice(0);
    }
  } finally {
    // A stream that already failed refuses to be cancelled, and there is nothing left to free then.
    await reader.cancel().catch(() => {});
  }
}

/** Only waiting counts as silence, not the time the consumer takes over an event. */
function unlessSilent<T>(
  silence: AbortController,
  wait: Promise<T>,
  reason: () => Error,
): Promise<T> {
  const timer = setTimeout(() => silence.abort(reason()), silenceLimitMs);
  return wait.finally(() => clearTimeout(timer));
}

function fellSilent(): Error {
  return new Error("the hub fell silent");
}

/** An event, or undefined for one this version does not know. */
function parseEvent(name: string | undefined, data: string): HubEvent | undefined {
  if (name === undefined || !knownEvents.has(name)) return undefined;
  try {
    const event = JSON.parse(data) as HubEvent | null;
    return typeof event === "object" && event?.type === name ? event : undefined;
  } catch {
    // Half an event after a proxy's cut: worth no more than a missed one.
    return undefined;
  }
}

/** A call, because the compiler believes a signal that was not aborted before an `await` still is not. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function isWorthRetrying(error: unknown): boolean {
  if (!(error instanceof RoomhubError)) return true;
  return error.status >= 500 || error.status === 429 || error.status === 408;
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    if (isAborted(signal)) finish();
    else signal?.addEventListener("abort", finish);
  });
}
