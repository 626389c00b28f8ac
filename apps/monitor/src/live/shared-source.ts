import type { RoomEvent, RoomSource } from "@roomhub/room-state";

/** What tabs of one room say to each other. */
export type TabMessage =
  /** a tab without the stream has opened and needs the state of the stream */
  | { kind: "hello" }
  /** the sender has the stream from now on */
  | { kind: "leading" }
  | { kind: "open" }
  | { kind: "broken"; reason: string; retryInMs: number }
  | { kind: "event"; event: RoomEvent };

interface TabChannel {
  /** To all other tabs. */
  post: (message: TabMessage) => void;
  close: () => void;
}

/** The other tabs that show the same room, of the same browser and origin. */
export interface Tabs {
  open: (onMessage: (message: TabMessage) => void) => TabChannel;
  /** Resolves when this tab may open the stream, with a function that passes that right on. Never resolves after the signal aborts. */
  lead: (signal: AbortSignal) => Promise<() => void>;
}

type EventOptions = Parameters<RoomSource["events"]>[0];

/**
 * A source whose stream is opened by one tab and shared by all: a hub allows a room only so many subscribers, and a browser
 * only six connections to a hub. When that tab closes, another tab opens the stream. Events in between are missed,
 * but each tab reads the lists whenever the stream opens.
 */
export function sharedSource(source: RoomSource, tabs: Tabs): RoomSource {
  return {
    lists: (signal) => source.lists(signal),
    events: (options) => sharedEvents(source, tabs, options),
  };
}

async function* sharedEvents(
  source: RoomSource,
  tabs: Tabs,
  options: EventOptions,
): AsyncGenerator<RoomEvent, void, void> {
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  const inbox = createInbox<TabMessage>(signal, () => options.onOpen());
  const leader = new Leader(source, options);
  const channel = tabs.open((message) => {
    if (leader.isLeading) {
      if (message.kind === "hello") leader.welcome();
    } else if (message.kind === "leading") channel.post({ kind: "hello" });
    else inbox.put(message);
  });
  /** `handOn` passes the lead to another tab; undefined while this tab does not lead. */
  const lead: { handOn?: () => void } = {};
  void tabs.lead(signal).then((release) => {
    lead.handOn = release;
    if (signal.aborted) release();
    inbox.wake();
  });
  channel.post({ kind: "hello" });
  try {
    while (lead.handOn === undefined && !signal.aborted) {
      for (const message of inbox.take()) {
        if (message.kind === "event") yield message.event;
        else if (message.kind === "open") options.onOpen();
        else if (message.kind === "broken") options.onDisconnect(message.reason, message.retryInMs);
      }
      if (lead.handOn === undefined) await inbox.changed();
    }
    if (!signal.aborted) yield* leader.lead(channel, signal);
  } finally {
    over.abort();
    lead.handOn?.();
    channel.close();
  }
}

/** The tab's own stream, passed on to the others. */
class Leader {
  readonly #source: RoomSource;
  readonly #options: EventOptions;
  /** Ends a stream that is broken, so that the next one is opened at once. */
  #openAgain = () => {};
  #channel: TabChannel | undefined;
  /** Without other tabs, nothing is posted. */
  #hasFollowers = false;
  #link: TabMessage | undefined;

  constructor(source: RoomSource, options: EventOptions) {
    this.#source = source;
    this.#options = options;
  }

  get isLeading(): boolean {
    return this.#channel !== undefined;
  }

  /**
   * Another tab opened, or its user wants to reconnect: send it the state of the stream. A tab that knows the state already
   * reads the lists again.
   */
  welcome(): void {
    this.#hasFollowers = true;
    if (this.#link !== undefined) this.#channel?.post(this.#link);
    if (this.#link?.kind === "broken") this.#openAgain();
  }

  async *lead(channel: TabChannel, signal: AbortSignal): AsyncGenerator<RoomEvent, void, void> {
    this.#channel = channel;
    channel.post({ kind: "leading" });
    while (!signal.aborted) {
      const again = new AbortController();
      this.#openAgain = () => again.abort();
      yield* this.#read(channel, AbortSignal.any([signal, again.signal]));
      if (!again.signal.aborted) return;
    }
  }

  async *#read(channel: TabChannel, signal: AbortSignal): AsyncGenerator<RoomEvent, void, void> {
    const events = this.#source.events({
      signal,
      onOpen: () => {
        this.#pass({ kind: "open" });
        this.#options.onOpen();
      },
      onDisconnect: (reason, retryInMs) => {
        this.#pass({ kind: "broken", reason, retryInMs });
        this.#options.onDisconnect(reason, retryInMs);
      },
      onInvalidEvent: this.#options.onInvalidEvent,
    });
    for await (const event of events) {
      if (this.#hasFollowers) channel.post({ kind: "event", event });
      yield event;
    }
  }

  #pass(link: TabMessage): void {
    this.#link = link;
    if (this.#hasFollowers) this.#channel?.post(link);
  }
}

/**
 * The tabs of this browser that show the same room.
 *
 * @returns undefined where a page may not know of others: over plain http from another machine, browsers have no locks
 */
export function browserTabs(name: string): Tabs | undefined {
  const locks = "locks" in navigator ? navigator.locks : undefined;
  if (locks === undefined || typeof BroadcastChannel === "undefined") return undefined;
  return {
    open(onMessage) {
      const channel = new BroadcastChannel(name);
      channel.onmessage = ({ data }: MessageEvent<TabMessage>) => onMessage(data);
      return {
        post: (message) => channel.postMessage(message),
        close: () => channel.close(),
      };
    },
    lead: (signal) =>
      new Promise((resolve) => {
        const held = (): Promise<void> => new Promise((release) => resolve(release));
        // Rejects when the signal aborts while another tab leads: this one no longer waits.
        locks.request(name, { signal }, held).catch(() => undefined);
      }),
  };
}

/** A tab that was suspended for minutes drops what it missed instead of processing all of it. */
const capacity = 10_000;

/** Values that arrive by callback and are read in a loop. @param onOverflow - called when values were dropped: read everything again */
export function createInbox<Value>(signal: AbortSignal, onOverflow: () => void) {
  let values: Value[] = [];
  let isWoken = false;
  let resolveChanged = () => {};
  const wake = () => {
    isWoken = true;
    resolveChanged();
  };
  signal.addEventListener("abort", wake);
  return {
    wake,
    put(value: Value) {
      if (values.length >= capacity) {
        values = [];
        onOverflow();
      }
      values.push(value);
      wake();
    },
    /** Everything that has arrived. */
    take: () => values.splice(0),
    /** Resolves when something has arrived, when woken, and when the signal aborts. */
    async changed() {
      if (!isWoken && !signal.aborted) {
        await new Promise<void>((resolve) => {
          resolveChanged = resolve;
        });
      }
      isWoken = false;
    },
  };
}
