import {
  createSseReader,
  DETAIL_EVENT_NAMES,
  type DetailEvent,
  EVENT_NAMES,
  type HubEvent,
  parseObject,
  pause,
  type World,
} from "@roomhub/protocol";
import { type HubConnection, openStream } from "./connection.ts";
import { HubUnreachableError, RoomhubError } from "./errors.ts";
import { missingField } from "./event-fields.ts";

export interface EventStreamOptions {
  /** Aborting ends the iteration without an error. */
  signal?: AbortSignal | undefined;
  /** Reconnect when the stream breaks. Default true. */
  reconnect?: boolean | undefined;
  /**
   * Called when the stream is open, also after each reconnect: anything listed earlier may have changed meanwhile. An
   * error it throws ends the iteration.
   */
  onOpen?: (() => void) | undefined;
  /** Called when the stream breaks, with the time until the next attempt. */
  onDisconnect?: ((reason: string, retryInMs: number) => void) | undefined;
  /** The id of the last event that was received before, on another stream of the same path. */
  lastEventId?: string | undefined;
  /**
   * Called with the id of each event before the event is yielded, also for events that this version does not know. Ids
   * are `<bootId>-<n>`: a gap in `n` is the number of missed events. An error it throws ends the iteration.
   */
  onEventId?: ((id: string) => void) | undefined;
  /**
   * Called with the first event that lacks a field which it must have: such events are not yielded. An error it throws
   * ends the iteration.
   */
  onInvalidEvent?: ((problem: string) => void) | undefined;
}

/** For a stream that also shows requests while they wait and generate, with the events `request.*`. */
export interface DetailStreamOptions extends EventStreamOptions {
  detail: true;
}

/** The hub sends detail only where it was requested. */
type AnyEvent = HubEvent | DetailEvent;

/** The hub sends a comment every 15 s; three missed mean a dead connection even without a socket error. */
const idleLimitMs = 50_000;
/** The hub's ids are `<bootId>-<n>`. Any other may not be valid in a header. */
const sendableId = /^[\x21-\x7e]{1,200}$/;
/** Longer than any event of the hub: specs and config are 16 KiB each. */
const maxEventCharacters = 1024 * 1024;
const defaultRetryMs = 2_000;
const longestRetryMs = 15_000;
const knownEvents = new Set<string>([...EVENT_NAMES, ...DETAIL_EVENT_NAMES]);

/**
 * Live events with dotted names, without replay: events during a disconnect are lost. Each reconnect sends the last event
 * id, so that a new room does not repeat its `room.created`. Contract §5.
 *
 * Buffers the events of one network chunk. The hub disconnects a consumer that stays behind (contract §6, 1 MiB), which
 * is handled like any other disconnect.
 *
 * The first attempt throws: a wrong URL must not look like an idle room. Later attempts are retried with the server's
 * `retry`, doubling up to 15 s, until the signal aborts or the hub responds with an error that a retry cannot fix.
 *
 * @throws RoomhubError, HubUnreachableError
 */
export async function* readEvents(
  connection: HubConnection,
  path: string,
  options: EventStreamOptions,
): AsyncGenerator<AnyEvent, void, void> {
  const { signal, reconnect = true } = options;
  let retryMs = defaultRetryMs;
  let failures = 0;
  let hasOpened = false;
  let isCallersTurn = false;
  let hasWarned = false;
  let lastEventId = sendable(options.lastEventId);
  const callers = (callback: () => void) => {
    // Stays set when the callback throws.
    isCallersTurn = true;
    callback();
    isCallersTurn = false;
  };
  while (!isAborted(signal)) {
    let reason = "the hub ended the stream";
    try {
      yield* readOnce(connection, path, lastEventId, signal, {
        onRetry: (ms) => {
          retryMs = Math.min(Math.max(ms, 50), longestRetryMs);
        },
        onId: (id) => {
          lastEventId = sendable(id);
          callers(() => options.onEventId?.(id));
        },
        onInvalid: (problem) => {
          if (hasWarned) return;
          hasWarned = true;
          callers(() => options.onInvalidEvent?.(problem));
        },
        onOpen: () => {
          hasOpened = true;
          failures = 0;
          callers(() => options.onOpen?.());
        },
      });
      if (!reconnect) return;
    } catch (error) {
      // An error of the caller's callback is not a disconnect; reconnecting would not fix it.
      if (isCallersTurn) throw error;
      if (isAborted(signal)) return;
      if (!hasOpened || !reconnect || !isWorthRetrying(error)) throw error;
      reason = error instanceof Error ? error.message : String(error);
    }
    const waitMs = Math.min(retryMs * 2 ** failures++, longestRetryMs);
    options.onDisconnect?.(reason, waitMs);
    await pause(connection.world, waitMs, signal);
  }
}

interface AttemptListeners {
  onOpen: () => void;
  onRetry: (ms: number) => void;
  onId: (id: string) => void;
  onInvalid: (problem: string) => void;
}

async function* readOnce(
  connection: HubConnection,
  path: string,
  lastEventId: string | undefined,
  signal: AbortSignal | undefined,
  listeners: AttemptListeners,
): AsyncGenerator<AnyEvent, void, void> {
  const idle = new AbortController();
  const stop = signal === undefined ? idle.signal : AbortSignal.any([signal, idle.signal]);
  const { world } = connection;
  const body = await withIdleTimeout(
    world,
    idle,
    openStream(connection, path, lastEventId, stop),
    () => {
      const cause = new Error(`no response in ${idleLimitMs} ms`);
      return new HubUnreachableError(connection.hubUrl, cause);
    },
  );
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const received: { id: string | undefined; event: AnyEvent | undefined }[] = [];
  const sse = createSseReader((message) => {
    received.push({ id: message.id, event: parseEvent(message.event, message.data) });
  }, listeners.onRetry);
  let unfinished = 0;
  try {
    listeners.onOpen();
    for (;;) {
      const { done, value } = await withIdleTimeout(world, idle, reader.read(), noData);
      if (done) return;
      const text = decoder.decode(value, { stream: true });
      const lastEnd = text.lastIndexOf("\n\n");
      unfinished = lastEnd === -1 ? unfinished + text.length : text.length - lastEnd;
      if (unfinished > maxEventCharacters)
        throw new Error("the hub sent an event of more than 1 MiB");
      sse.feed(text);
      for (const { id, event } of received.splice(0)) {
        if (id !== undefined) listeners.onId(id);
        if (event === undefined) continue;
        const missing = missingField(event);
        if (missing === undefined) yield event;
        else
          listeners.onInvalid(
            `the hub sent ${event.type} without a valid ${missing}: such events are left out`,
          );
      }
    }
  } finally {
    // A failed stream cannot be cancelled and holds no resources.
    await reader.cancel().catch(() => {});
  }
}

/** Only waiting for the hub counts, not the time the consumer takes for an event. */
function withIdleTimeout<T>(
  world: World,
  idle: AbortController,
  wait: Promise<T>,
  reason: () => Error,
): Promise<T> {
  const timer = world.setTimeout(() => idle.abort(reason()), idleLimitMs);
  return wait.finally(() => world.clearTimeout(timer));
}

function noData(): Error {
  return new Error(`no data from the hub for ${idleLimitMs / 1_000} s`);
}

/** An event, or undefined for a name unknown to this version. */
function parseEvent(name: string | undefined, data: string): AnyEvent | undefined {
  if (name === undefined || !knownEvents.has(name)) return undefined;
  // An event that a proxy cut is the same as a missed one.
  const event = parseObject(data);
  return event?.["type"] === name ? (event as unknown as AnyEvent) : undefined;
}

function sendable(id: string | undefined): string | undefined {
  return id !== undefined && sendableId.test(id) ? id : undefined;
}

/** A function, because the compiler assumes that a signal not aborted before an `await` is not aborted after it. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function isWorthRetrying(error: unknown): boolean {
  if (!(error instanceof RoomhubError)) return true;
  return error.status >= 500 || error.status === 429 || error.status === 408;
}
