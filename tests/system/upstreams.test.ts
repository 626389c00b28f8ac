import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type {
  ResponseHead,
  ResponseSink,
  UpstreamCall,
  UpstreamFailure,
  UpstreamRequest,
} from "../../packages/hub/src/inference/upstream.ts";
import {
  aRequest,
  directLab,
  type ServedCall,
  tunnelLab,
  type UpstreamLab,
} from "../support/hub/upstream-lab.ts";

/** Writes down what an upstream calls, and waits for it. */
class Recorder implements ResponseSink {
  readonly story: string[] = [];
  readonly chunks: Buffer[] = [];
  response: ResponseHead | undefined;
  failure: UpstreamFailure | undefined;
  isBehind = false;
  #check: (() => void) | undefined;

  onHead(head: ResponseHead): void {
    this.response = head;
    this.#note("head");
  }

  onData(chunk: Buffer): boolean {
    this.chunks.push(Buffer.from(chunk));
    if (this.story.at(-1) !== "data") this.story.push("data");
    this.#check?.();
    return !this.isBehind;
  }

  onEnd(): void {
    this.#note("end");
  }

  onFailure(failure: UpstreamFailure): void {
    this.failure = failure;
    this.#note("failure");
  }

  onClosed(): void {
    this.#note("closed");
  }

  get bytes(): number {
    return this.chunks.reduce((sum, { length }) => sum + length, 0);
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString();
  }

  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#check = () => condition() && resolve();
      this.#check();
    });
  }

  closed(): Promise<void> {
    return this.until(() => this.story.at(-1) === "closed");
  }

  #note(what: string): void {
    this.story.push(what);
    this.#check?.();
  }
}

const sse = { "content-type": "text/event-stream" };

describe.each<[string, () => Promise<UpstreamLab>]>([
  ["a tunnel", tunnelLab],
  ["a direct endpoint", directLab],
])("an upstream through %s", (_name, createLab) => {
  let lab: UpstreamLab;
  beforeEach(async () => {
    lab = await createLab();
  });
  afterEach(() => lab.close());

  async function open(fields: Partial<UpstreamRequest> = {}) {
    const sink = new Recorder();
    const call: UpstreamCall = lab.upstream.open(aRequest(fields), sink);
    expect(sink.story).toEqual([]);
    const served = await lab.nextCall();
    return { sink, call, served };
  }

  test("delivers method, path, headers and every byte of the body", async () => {
    const body = Buffer.from(`{"text":"${"ä".repeat(1_000)}"}`);
    const { served, sink } = await open({ body: [body.subarray(0, 9), body.subarray(9)] });
    expect(served).toMatchObject({ method: "POST", path: "/chat/completions" });
    expect(served.headers).toMatchObject({ "content-type": "application/json", "x-test": "1" });
    expect(await served.body).toEqual(body);
    served.head(200, sse);
    served.end();
    await sink.closed();
  });

  test("delivers a body of many windows, and reads its buffers no more once it is taken", async () => {
    const part = Buffer.alloc(100_000, "x");
    const body = Array.from({ length: 30 }, () => part);
    const { served, sink, call } = await open({ body });
    const digest = createHash("sha256")
      .update(await served.body)
      .digest("hex");
    expect(digest).toBe(createHash("sha256").update(Buffer.concat(body)).digest("hex"));
    served.head(200, sse);
    await sink.until(() => sink.response !== undefined);
    expect(call.isBodyTaken ?? true).toBe(true);
    served.end();
    await sink.closed();
  });

  test("calls back in order: head, data, end, closed", async () => {
    const { served, sink } = await open();
    await served.body;
    served.head(200, { ...sse, "x-model": "m" });
    served.data(Buffer.from("one "));
    await sink.until(() => sink.text === "one ");
    served.data(Buffer.from("two"));
    served.end();
    await sink.closed();
    expect(sink.story).toEqual(["head", "data", "end", "closed"]);
    expect(sink.response).toMatchObject({ status: 200, headers: { ...sse, "x-model": "m" } });
    expect(sink.text).toBe("one two");
  });

  test("passes an error of the provider on as it is", async () => {
    const { served, sink } = await open();
    await served.body;
    served.head(429, { "content-type": "application/json", "retry-after": "7" });
    served.data(Buffer.from('{"error":{}}'));
    served.end();
    await sink.closed();
    expect(sink.response).toMatchObject({ status: 429, headers: { "retry-after": "7" } });
    expect([sink.text, sink.story.at(-2)]).toEqual(['{"error":{}}', "end"]);
  });

  test("delivers a long response whole, whatever its cuts", async () => {
    const { served, sink } = await open();
    await served.body;
    served.head(200, sse);
    const sent = createHash("sha256");
    for (const bytes of [1, 65_536, 70_001, 3, 200_000, 9]) {
      const chunk = Buffer.alloc(bytes, String(bytes % 10));
      sent.update(chunk);
      served.data(chunk);
    }
    served.end();
    await sink.closed();
    expect(createHash("sha256").update(Buffer.concat(sink.chunks)).digest()).toEqual(sent.digest());
  });

  test("sends little more to a reader that is behind, and the rest once it has caught up", async () => {
    const { served, sink, call } = await open();
    await served.body;
    sink.isBehind = true;
    served.head(200, sse);
    const chunk = Buffer.alloc(16_384, "x");
    const total = 4 * 1024 * 1024;
    let sent = 0;
    const sendMore = (): void => {
      while (sent < total) {
        sent += chunk.length;
        served.data(chunk);
      }
      served.end();
    };
    sendMore();
    await sink.until(() => sink.bytes > 0);
    // Another request passes meanwhile.
    const other = await open();
    await other.served.body;
    other.served.head(200, sse);
    other.served.data(Buffer.from("quick"));
    other.served.end();
    await other.sink.closed();
    expect(other.sink.text).toBe("quick");
    expect(sink.bytes).toBeLessThan(512 * 1024);
    sink.isBehind = false;
    call.resume();
    await sink.closed();
    expect([sink.bytes, sink.story]).toEqual([total, ["head", "data", "end", "closed"]]);
  });

  test("keeps apart what is served at once", async () => {
    const calls = await Promise.all(
      Array.from({ length: 12 }, async (_, n) => {
        const sink = new Recorder();
        lab.upstream.open(aRequest({ headers: { "x-n": String(n) } }), sink);
        return sink;
      }),
    );
    const served: ServedCall[] = [];
    for (const _ of calls) served.push(await lab.nextCall());
    for (const call of served) call.head(200, sse);
    for (let round = 0; round < 3; round++) {
      for (const call of served) call.data(Buffer.from(`${String(call.headers["x-n"])},`));
    }
    for (const call of served) call.end();
    await Promise.all(calls.map((sink) => sink.closed()));
    expect(calls.map(({ text }) => text)).toEqual(calls.map((_, n) => `${n},`.repeat(3)));
  });

  test.each(["before the head", "in the middle of the body"])(
    "cancels %s, and is closed when the participant has finished",
    async (when) => {
      const { served, sink, call } = await open();
      await served.body;
      if (when !== "before the head") {
        served.head(200, sse);
        served.data(Buffer.from("some"));
        await sink.until(() => sink.bytes > 0);
      }
      const before = [...sink.story];
      call.cancel("not needed");
      call.cancel("twice");
      await served.cancelled;
      expect(sink.story.includes("failure")).toBe(false);
      served.finish();
      await sink.closed();
      expect(sink.story).toEqual([...before, "closed"]);
    },
  );

  test("fails with the provider's code when it hangs up, and never ends cleanly", async () => {
    const { served, sink } = await open();
    await served.body;
    served.head(200, sse);
    served.data(Buffer.from("some"));
    await sink.until(() => sink.bytes > 0);
    served.breakOff();
    await sink.closed();
    expect(sink.story).toEqual(["head", "data", "failure", "closed"]);
    expect(sink.failure).toMatchObject({ code: "provider_disconnected" });
  });

  test("fails before the head when the provider hangs up there", async () => {
    const { served, sink } = await open();
    await served.body;
    served.breakOff();
    await sink.closed();
    expect(sink.story).toEqual(["failure", "closed"]);
    expect(sink.failure?.code).toMatch(/^provider_(disconnected|unreachable)$/);
  });

  test("does nothing on a cancel after the end", async () => {
    const { served, sink, call } = await open();
    await served.body;
    served.head(204, {});
    served.end();
    await sink.closed();
    call.cancel("late");
    call.resume();
    expect(sink.story).toEqual(["head", "end", "closed"]);
  });
});
