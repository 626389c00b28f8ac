import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import { createSseReader, type DetailEventName, type EventName } from "@roomhub/protocol";
import { longestWaitMs } from "../waiting.ts";

/** One event as it came over the wire. */
export interface RecordedEvent {
  id: string | undefined;
  /** as spelled by the stream */
  name: string;
  /** the name with a dot, whatever the stream's spelling */
  kind: EventName | DetailEventName;
  data: EventData;
}

/** Fields of every payload, loosely: tests look at a few. */
type EventData = Record<string, unknown> & {
  type: string;
  timestamp: string;
  roomCode: string;
};

/** A real client of one event stream. */
export interface EventRecorder extends AsyncDisposable {
  readonly events: readonly RecordedEvent[];
  /** every byte so far, as text */
  readonly text: string;
  /** comment lines so far */
  readonly comments: number;
  readonly retryMs: number | undefined;
  /** whether the hub ended the stream */
  readonly hasEnded: boolean;
  of(kind: EventName | DetailEventName): RecordedEvent[];
  /** Resolves when it holds, looked at with everything that comes. */
  waitFor(
    what: string,
    holds: (recorder: EventRecorder) => boolean,
    timeoutMs?: number,
  ): Promise<void>;
  /** The first event of a kind for which `holds`. */
  next(
    kind: EventName | DetailEventName,
    holds?: (data: EventData) => boolean,
  ): Promise<RecordedEvent>;
  close(): void;
}

/**
 * The same of a client that opens its stream again when the hub ends it, as readers of event streams do. What happens in
 * between is not among its events.
 */
export async function followEvents(url: string): Promise<EventRecorder> {
  const recorder = new Recorder(true);
  recorder.connect(url, {});
  await recorder.waitFor("the greeting", ({ comments }) => comments > 0);
  return recorder;
}

/** Resolves when the hub has greeted: from then on nothing is missed. */
export async function recordEvents(
  url: string,
  headers: Record<string, string> = {},
): Promise<EventRecorder> {
  const recorder = new Recorder();
  recorder.connect(url, headers);
  await recorder.waitFor(
    "the greeting",
    ({ comments, retryMs }) => comments > 0 && retryMs !== undefined,
  );
  return recorder;
}

class Recorder implements EventRecorder {
  readonly events: RecordedEvent[] = [];
  text = "";
  comments = 0;
  retryMs: number | undefined;
  hasEnded = false;
  #request: ReturnType<typeof getHttp> | undefined;
  readonly #watchers = new Set<() => void>();
  #follows: boolean;
  #url = "";

  /** @param follows - it connects again until it is closed */
  constructor(follows = false) {
    this.#follows = follows;
  }

  connect(url: string, headers: Record<string, string>): void {
    this.#url = url;
    // A socket of its own: a pooled one could be waited for behind another stream.
    this.#request = (new URL(url).protocol === "https:" ? getHttps : getHttp)(url, {
      headers: { accept: "text/event-stream", ...headers },
      agent: false,
    });
    this.#request.on("response", (response) => this.#read(response));
    this.#request.on("error", () => this.#end());
  }

  #read(response: IncomingMessage): void {
    const reader = createSseReader(
      ({ id, event, data }) => this.#record(id, event ?? "message", data),
      (retryMs) => {
        this.retryMs = retryMs;
      },
    );
    response.setEncoding("utf8");
    response.on("data", (text: string) => {
      this.text += text;
      this.comments += text.match(/^:/gm)?.length ?? 0;
      reader.feed(text);
      this.#changed();
    });
    response.on("close", () => this.#end());
  }

  #record(id: string | undefined, name: string, data: string): void {
    const kind = name.replace(":", ".") as EventName | DetailEventName;
    this.events.push({ id, name, kind, data: JSON.parse(data) as EventData });
  }

  #end(): void {
    if (this.#follows) {
      setTimeout(() => {
        if (this.#follows) this.connect(this.#url, {});
        else this.#end();
      }, 20);
      return;
    }
    this.hasEnded = true;
    this.#changed();
  }

  #changed(): void {
    for (const look of this.#watchers) look();
  }

  of(kind: EventName | DetailEventName): RecordedEvent[] {
    return this.events.filter((event) => event.kind === kind);
  }

  waitFor(
    what: string,
    holds: (recorder: EventRecorder) => boolean,
    timeoutMs = longestWaitMs,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        this.#watchers.delete(look);
      };
      const look = () => {
        if (!holds(this)) return;
        settle();
        resolve();
      };
      const timer = setTimeout(() => {
        settle();
        const seen = this.events.map(({ name }) => name).join(", ");
        reject(new Error(`waited ${timeoutMs} ms in vain for ${what}; events: [${seen}]`));
      }, timeoutMs);
      this.#watchers.add(look);
      look();
    });
  }

  async next(
    kind: EventName | DetailEventName,
    holds: (data: EventData) => boolean = () => true,
  ): Promise<RecordedEvent> {
    const find = () => this.of(kind).find(({ data }) => holds(data));
    await this.waitFor(kind, () => find() !== undefined);
    return find() as RecordedEvent;
  }

  close(): void {
    this.#follows = false;
    this.#request?.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await this.waitFor("the stream's end", ({ hasEnded }) => hasEnded);
  }
}
