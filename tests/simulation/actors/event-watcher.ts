import { request } from "node:http";

/** One event of a room, as a watcher received it. */
export interface SeenEvent {
  /** of the stream in which it came: counted from 0 */
  connection: number;
  bootId: string;
  number: number;
  type: string;
  data: Record<string, unknown>;
  atMs: number;
}

/** Watches a room over one hub, and dials again whenever its stream has ended. */
export class EventWatcher {
  readonly events: SeenEvent[] = [];
  readonly #url: { host: string; port: number; path: string };
  readonly #nowMs: () => number;
  #connection = -1;
  #isClosed = false;

  constructor(url: { host: string; port: number; path: string }, nowMs: () => number) {
    this.#url = url;
    this.#nowMs = nowMs;
  }

  get connections(): number {
    return this.#connection + 1;
  }

  /** To be called on its machine. */
  watch(): void {
    const lastId = this.events.at(-1);
    const headers =
      lastId === undefined ? {} : { "last-event-id": `${lastId.bootId}-${lastId.number}` };
    const sent = request({ ...this.#url, agent: false, headers });
    let isOver = false;
    const again = (): void => {
      if (isOver || this.#isClosed) return;
      isOver = true;
      setTimeout(() => this.watch(), 500);
    };
    // A stream is quiet for 15 s at most.
    sent.setTimeout(45_000, () => void sent.destroy());
    sent.on("error", again);
    sent.on("close", again);
    sent.on("response", (response) => {
      if (response.statusCode !== 200) {
        response.resume();
        return;
      }
      const connection = ++this.#connection;
      let rest = "";
      response.setEncoding("utf8");
      response.on("error", again);
      response.on("data", (part: string) => {
        const blocks = (rest + part).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) this.#read(block, connection);
      });
    });
    sent.end();
  }

  /** It does not dial again. */
  close(): void {
    this.#isClosed = true;
  }

  #read(block: string, connection: number): void {
    const id = /^id: (\w+)-(\d+)$/m.exec(block);
    const data = /^data: (.*)$/m.exec(block);
    if (id === null || data === null) return;
    const fields = JSON.parse(data[1] ?? "{}") as Record<string, unknown>;
    const { type } = fields;
    this.events.push({
      ...{ connection, bootId: id[1] ?? "", number: Number(id[2]), data: fields },
      ...{ type: String(type), atMs: this.#nowMs() },
    });
  }
}
