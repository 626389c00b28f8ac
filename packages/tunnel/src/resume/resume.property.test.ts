import { array, assert, asyncProperty, constantFrom, integer, oneof, record } from "fast-check";
import { expect, test } from "vitest";
import { ResumableTunnel, turns } from "./resumable-tunnel.fixture.ts";
import type { Exchange, Served } from "./resumable-tunnel.fixture.ts";

type Pair = { exchange: ReturnType<ResumableTunnel["send"]>; served: Served | undefined };

/** What goes on in a tunnel, in any order. `at` chooses one of its streams. */
const step = oneof(
  {
    weight: 2,
    arbitrary: record({ kind: constantFrom("open"), size: integer({ min: 0, max: 40_000 }) }),
  },
  {
    weight: 6,
    arbitrary: record({ kind: constantFrom("write"), size: integer({ min: 1, max: 9_000 }) }),
  },
  {
    weight: 3,
    arbitrary: record({ kind: constantFrom("turns"), size: integer({ min: 1, max: 6 }) }),
  },
  {
    weight: 2,
    arbitrary: record({ kind: constantFrom("cut"), size: integer({ min: 0, max: 6 }) }),
  },
  {
    weight: 2,
    arbitrary: record({ kind: constantFrom("connect"), size: integer({ min: 0, max: 6 }) }),
  },
  {
    weight: 1,
    arbitrary: record({ kind: constantFrom("pause", "read"), size: integer({ min: 0, max: 9 }) }),
  },
  {
    weight: 1,
    arbitrary: record({ kind: constantFrom("cancel"), size: integer({ min: 0, max: 9 }) }),
  },
  {
    weight: 1,
    arbitrary: record({ kind: constantFrom("end"), size: integer({ min: 0, max: 9 }) }),
  },
);

test("whatever is cut when, every stream ends once with the bytes that were sent, in order", async () => {
  const script = array(record({ step, at: integer({ min: 0, max: 9 }) }), { maxLength: 60 });
  await assert(
    asyncProperty(script, async (steps) => {
      const tunnel = new ResumableTunnel({ windowBytes: 16 * 1024 });
      await tunnel.connect();
      const run = new Run(tunnel);
      for (const { step, at } of steps) await run.take(step.kind, step.size, at);
      await run.finish();
      run.check();
    }),
    { numRuns: 100 },
  );
});

class Run {
  readonly #tunnel: ResumableTunnel;
  readonly #pairs: Pair[] = [];
  readonly #written = new Map<Served, Buffer[]>();
  readonly #requests = new Map<Exchange, Buffer>();
  readonly #cancelled = new Set<Exchange>();
  readonly #ended = new Set<Served>();
  #next = 0;
  #isCut = false;

  constructor(tunnel: ResumableTunnel) {
    this.#tunnel = tunnel;
  }

  async take(kind: string, size: number, at: number): Promise<void> {
    this.#match();
    const pair = this.#pairs[at % Math.max(1, this.#pairs.length)];
    switch (kind) {
      case "open":
        return this.#open(size);
      case "turns":
        return turns(size);
      case "cut":
        return this.#cut(size);
      case "connect":
        return this.#connect();
    }
    if (pair === undefined) return;
    if (kind === "pause") pair.exchange.isBehind = true;
    if (kind === "read") this.#read(pair);
    if (kind === "cancel" && !this.#cancelled.has(pair.exchange)) {
      this.#cancelled.add(pair.exchange);
      pair.exchange.reset();
    }
    if (pair.served === undefined) return;
    if (kind === "write") this.#write(pair.served, size);
    if (kind === "end") this.#end(pair.served);
  }

  /** Everything reads, is connected, and ends. */
  async finish(): Promise<void> {
    await this.#connect();
    for (let round = 0; round < 150; round++) {
      this.#match();
      for (const pair of this.#pairs) {
        this.#read(pair);
        if (pair.served !== undefined) this.#end(pair.served);
      }
      await turns(4);
      if (this.#pairs.every(({ exchange }) => exchange.story.includes("closed"))) return;
    }
  }

  check(): void {
    for (const { exchange, served } of this.#pairs) {
      expect(exchange.story.filter((entry) => entry === "closed")).toEqual(["closed"]);
      expect(exchange.story).not.toContain("reset 255");
      if (this.#cancelled.has(exchange)) continue;
      expect(exchange.story.at(-2)).toBe("end");
      // A response may end before its request is complete: the rest is not needed then.
      const body = this.#requests.get(exchange)?.toString("latin1") ?? "";
      expect(body.startsWith(served?.text ?? "")).toBe(true);
      const written = served === undefined ? [] : (this.#written.get(served) ?? []);
      expect(exchange.text === Buffer.concat(written).toString("latin1")).toBe(true);
    }
    // One session all along, and each request reached the agent at most once.
    expect(this.#tunnel.served.length).toBeLessThanOrEqual(this.#pairs.length);
  }

  #open(size: number): void {
    if (this.#isCut || this.#tunnel.hub?.isReady !== true) return;
    const body = this.#bytes(size);
    const exchange = this.#tunnel.send([body]);
    this.#requests.set(exchange, body);
    this.#pairs.push({ exchange, served: undefined });
  }

  /** Requests arrive in the order in which they were sent. */
  #match(): void {
    for (const [index, served] of this.#tunnel.served.entries()) {
      const pair = this.#pairs[index];
      if (pair !== undefined) pair.served = served;
    }
  }

  #read({ exchange }: Pair): void {
    exchange.isBehind = false;
    exchange.resume();
  }

  #write(served: Served, size: number): void {
    if (this.#ended.has(served)) return;
    const { responder } = served.request;
    const chunks = this.#written.get(served);
    if (chunks === undefined) responder.head({ status: 200, headers: {} });
    const chunk = this.#bytes(size);
    this.#written.set(served, [...(chunks ?? []), chunk]);
    responder.write(chunk);
  }

  #end(served: Served): void {
    if (this.#ended.has(served)) return;
    this.#ended.add(served);
    if (!this.#written.has(served)) served.request.responder.head({ status: 200, headers: {} });
    served.request.responder.end();
  }

  /** @param after - turns: with each, more of what is on its way arrives */
  async #cut(after: number): Promise<void> {
    await turns(after);
    await this.#tunnel.cut();
    this.#isCut = true;
  }

  async #connect(): Promise<void> {
    if (this.#tunnel.agent?.isOpen === true && !this.#isCut)
      this.#tunnel.agent.interrupt("tried again");
    await this.#tunnel.connect();
    this.#isCut = false;
  }

  #bytes(size: number): Buffer {
    this.#next += 1;
    return Buffer.alloc(size, `${this.#next} `);
  }
}
