import {
  array,
  assert,
  type Arbitrary,
  asyncProperty,
  constantFrom,
  integer,
  nat,
  oneof,
  record,
  uint8Array,
} from "fast-check";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import { dialTunnel, openHandAgent } from "../support/hub/hand-agent.ts";
import { ledgerProblems, settled } from "../support/hub/ledger.ts";
import { mustHaveMet, propertyRuns, propertyTimeoutMs, SEEDS } from "../support/property-runs.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { until, within } from "../support/waiting.ts";

const REQUEST = 3;
const frameHeaderBytes = 9;

function frame(type: number, streamId: number, payload: Buffer, length = payload.length): Buffer {
  const header = Buffer.alloc(frameHeaderBytes);
  header.writeUInt8(type, 0);
  header.writeUInt32BE(streamId, 1);
  header.writeUInt32BE(length, 5);
  return Buffer.concat([header, payload]);
}

function headed(head: unknown, body: string): Buffer {
  const text = Buffer.from(typeof head === "string" ? head : JSON.stringify(head));
  const size = Buffer.alloc(4);
  size.writeUInt32BE(text.length);
  return Buffer.concat([size, text, Buffer.from(body)]);
}

const hello = frame(
  1,
  0,
  Buffer.from(
    JSON.stringify({
      version: 1,
      maxStreams: 100,
      windowBytes: 65_536,
      capabilities: { chatCompletions: "supported" },
    }),
  ),
);
const evil = `data: {"choices":[{"index":0,"delta":{"content":"EVIL"},"finish_reason":null}]}\n\n`;
const stream = { "content-type": "text/event-stream" };
const plausible = constantFrom(
  headed({ status: 200, headers: stream, end: false }, evil),
  headed({ status: 200, headers: stream, end: true }, `${evil}data: [DONE]\n\n`),
  headed({ status: 200, headers: { "set-cookie": "EVIL" }, end: true }, '{"choices":["EVIL"]}'),
  headed({ status: 302, headers: { location: "/" }, end: true }, ""),
  headed({ status: 101, headers: {}, end: true }, ""),
  headed({ status: 500, headers: {}, end: true }, '{"error":{"message":"EVIL\\u001b[2J"}}'),
  headed({ status: 200, headers: { "a\r\nb": "c" }, end: false }, ""),
  headed('{"status":200,"headers":{"__proto__":"x"},"end":false}', ""),
  headed("{", ""),
  Buffer.from(evil),
  Buffer.from("data: [DONE]\n\n"),
  Buffer.from('{"ready":true}'),
  Buffer.from('{"ready":false,"reason":"EVIL"}'),
  Buffer.from('{"ready":true,"capabilities":{"chatCompletions":"unsupported"}}'),
  Buffer.from([0, 0, 1, 0]),
  Buffer.from([0xff, 0xff, 0xff, 0xff]),
  Buffer.from([3, 69, 86, 73, 76]),
  Buffer.alloc(0),
  Buffer.alloc(70_000, "E"),
);

const someFrame = record({
  type: oneof(constantFrom(4, 4, 5, 5, 6, 7, 8), integer({ min: 0, max: 11 })),
  streamId: oneof(constantFrom(1, 1, 2, 2, 3), constantFrom(0, 4, 0xffff_ffff), nat(10)),
  payload: oneof(
    plausible,
    plausible,
    uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  ),
  lie: oneof(
    { weight: 20, arbitrary: constantFrom(0) },
    { weight: 1, arbitrary: integer({ min: -5, max: 5 }) },
  ),
}).map(({ type, streamId, payload, lie }) =>
  frame(type, streamId, payload, Math.max(0, payload.length + lie)),
);

const whole = plausible.filter((payload) => payload.includes('"end":true'));
/** Noise that must not close the tunnel: whatever it causes, the hub keeps reading. */
const politeFrame = oneof(
  record({ streamId: integer({ min: 1, max: 2 }), payload: whole }).map(({ streamId, payload }) =>
    frame(4, streamId, payload),
  ),
  integer({ min: 1, max: 2 }).map((streamId) =>
    frame(8, streamId, Buffer.from([3, 69, 86, 73, 76])),
  ),
  constantFrom('{"ready":true}', '{"ready":false,"reason":"EVIL\u0007"}').map((status) =>
    frame(2, 0, Buffer.from(status)),
  ),
  constantFrom(frame(9, 0, Buffer.from("EVIL"))),
);

/** One thing a hostile agent does. */
type Deed =
  | { kind: "message"; bytes: Buffer }
  | { kind: "text"; text: string }
  /** into the middle of the WebSocket's own framing */
  | { kind: "raw"; bytes: Buffer };

const message = (frames: Buffer[]): Deed => ({ kind: "message", bytes: Buffer.concat(frames) });
const rude: Arbitrary<Deed> = oneof(
  {
    weight: 20,
    arbitrary: array(someFrame, { minLength: 1, maxLength: 4 }).map((frames): Deed => ({
      kind: "message",
      bytes: Buffer.concat(frames),
    })),
  },
  {
    weight: 1,
    arbitrary: uint8Array({ maxLength: 60 }).map((bytes): Deed => ({
      kind: "message",
      bytes: Buffer.from(bytes),
    })),
  },
  { weight: 1, arbitrary: constantFrom<Deed>({ kind: "text", text: "hello" }) },
  {
    weight: 1,
    arbitrary: uint8Array({ minLength: 1, maxLength: 20 }).map((bytes): Deed => ({
      kind: "raw",
      bytes: Buffer.from(bytes),
    })),
  },
);

const polite = array(politeFrame, { minLength: 1, maxLength: 4 }).map(message);
const deeds = record({
  first: array(polite, { maxLength: 10 }),
  last: oneof(array(rude, { maxLength: 15 }), constantFrom<Deed[]>([])),
}).map(({ first, last }) => [...first, ...last]);

/** A tunnel without our agent: HELLO is sent, the rest is up to the test. */
async function openNoisyTunnel(url: string, token: string) {
  const socket = dialTunnel(url, token);
  let requests = 0;
  let greeted = false;
  let closeCode: number | undefined;
  socket.on("error", () => undefined);
  socket.on("close", (code) => {
    closeCode = code;
  });
  socket.on("message", (data: Buffer) => {
    for (let at = 0; at < data.length; at += frameHeaderBytes + data.readUInt32BE(at + 5)) {
      if (data.readUInt8(at) === REQUEST) requests++;
      greeted = true;
    }
  });
  socket.on("open", () => socket.send(hello));
  await until(
    "the hub's HELLO",
    () => greeted,
    (value) => value,
  );
  return {
    socket,
    get requests() {
      return requests;
    },
    get closeCode() {
      return closeCode;
    },
  };
}

function commit(socket: WebSocket, what: Deed): void {
  if (what.kind === "message") socket.send(what.bytes);
  else if (what.kind === "text") socket.send(what.text);
  else {
    const { _socket: bare } = socket as unknown as { _socket: NodeJS.WritableStream | null };
    bare?.write(what.bytes);
  }
}

async function ask(hub: TestHub, code: string, participant: string, isStream: boolean) {
  const answer = await hub.fetch(`/v1/rooms/${code}/chat/completions`, {
    json: { model: participant, stream: isStream, user: participant, messages: [] },
  });
  // A broken connection is a correct end of a broken response.
  const text = await answer.text().catch(() => "");
  return { status: answer.status, headers: [...answer.headers.keys()], text };
}

const quietAnswer = [
  `data: {"choices":[{"index":0,"delta":{"content":"quiet"},"finish_reason":null}]}\n\n`,
  `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n`,
  "data: [DONE]\n\n",
];

test.for(SEEDS)(
  "whatever an agent sends, it costs at most its own tunnel, and nobody else reads it (seed %i)",
  { timeout: propertyTimeoutMs },
  async (seed) => {
    // Hundreds of tunnels with one token.
    await using hub = await startTestHub({ limits: { tunnelOpeningsMs: 0 } });
    const code = await hub.createRoom();
    const joined = async (id: string) => {
      const registration = { id, nickname: id, model: id, endpoint: "http://127.0.0.1:9" };
      const answer = await hub.client.join(code, { ...registration, transport: "tunnel" });
      return [answer.tunnel.url, answer.participantToken ?? ""] as const;
    };
    const quiet = await openHandAgent(...(await joined("quiet")));
    const noisyPlace = await joined("noisy");
    const recorder = await hub.watch(code);
    const closeCodes = new Set<number>();
    let asked = 0;

    await assert(
      asyncProperty(deeds, async (all) => {
        const noisy = await openNoisyTunnel(...noisyPlace);
        const victims = [ask(hub, code, "noisy", true), ask(hub, code, "noisy", false)];
        const bystander = ask(hub, code, "quiet", true);
        asked += 3;
        await until(
          "the requests",
          () => noisy.requests === 2 && quiet.held.has("quiet"),
          (value) => value,
        );
        const { responder } = quiet.held.get("quiet") ?? expect.unreachable("no request");
        quiet.held.delete("quiet");
        responder.head({ status: 200, headers: stream });
        responder.write(Buffer.from(quietAnswer[0] ?? ""));

        for (const what of all) {
          if (noisy.closeCode === undefined) commit(noisy.socket, what);
        }
        if (noisy.socket.readyState === noisy.socket.OPEN) noisy.socket.ping();
        // Read after all of it, since it is on the way for as long.
        await quiet.ping();
        for (const piece of quietAnswer.slice(1)) responder.write(Buffer.from(piece));
        responder.end();
        expect(await within(bystander, "the quiet response")).toMatchObject({
          status: 200,
          text: quietAnswer.join(""),
        });

        noisy.socket.close(1000);
        await until(
          "the noisy tunnel's end",
          () => noisy.closeCode,
          (value) => value !== undefined,
        );
        const isRaw = all.some(({ kind }) => kind === "raw");
        const closeCode = noisy.closeCode ?? 0;
        closeCodes.add(closeCode);
        if (!isRaw) expect(closeCode === 1000 || closeCode >= 4000).toBe(true);
        for (const { headers } of await within(Promise.all(victims), "the noisy responses")) {
          expect(headers).not.toContain("set-cookie");
          expect(headers).not.toContain("location");
        }
      }),
      propertyRuns(seed, 50),
    );

    await settled(recorder, asked);
    expect(ledgerProblems(recorder)).toEqual([]);
    expect(
      recorder.of("llm.complete").filter(({ data }) => data["participantId"] === "quiet"),
    ).toHaveLength(asked / 3);
    const { load } = await hub.client.getParticipant(code, "noisy");
    expect(load).toMatchObject({ active: 0, queued: 0 });
    expect(quiet.closeCode).toBeUndefined();
    await quiet.close();
    expect(hub.log.filter((line) => line.includes(" bug ") || line.includes("\u001b"))).toEqual([]);
    if (mustHaveMet(seed)) {
      expect([...closeCodes]).toEqual(expect.arrayContaining([1000, 4002]));
    }
  },
);
