import type { Limits } from "@roomhub/protocol";
import type { Socket } from "node:net";
import { expect } from "vitest";
import { WebSocket } from "ws";
import { type FakeProviderOptions, startFakeProvider } from "../providers/fake-provider.ts";
import { joinDirect } from "./joining.ts";
import { createManualTime, QUICK_SWEEP } from "./manual-time.ts";
import { userSays } from "../clients/openai-client.ts";
import { sendBytes } from "../clients/raw-http.ts";
import { startTestHub } from "./start-test-hub.ts";
import { until, within } from "../waiting.ts";

export type Behave = FakeProviderOptions["behave"];
export type Lab = Awaited<ReturnType<typeof openLab>>;

/** An address where nothing listens. */
export const nowhere = "http://127.0.0.1:9/v1";
export const chat = { model: "*", messages: userSays("hello") };

/** A hub with one room and ada in it, on a clock moved by hand. */
export async function openLab(limits: Partial<Limits>, behave?: Behave) {
  const time = createManualTime();
  const provider = await startFakeProvider({ behave });
  const hub = await startTestHub({
    world: time.world,
    limits: { ...QUICK_SWEEP, drainMs: 0, offlineAfterMs: 1e9, ...limits },
  });
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: provider.url });
  const chatPath = `/rooms/${code}/v1/chat/completions`;
  const ada = () => hub.client.getParticipant(code, "ada");
  return {
    ...{ hub, provider, code, time, chatPath },
    /** Sends a request to ada; the body is JSON, or bytes as they are. */
    ask: (body: object | string = chat, signal?: AbortSignal) =>
      hub.fetch(chatPath, { method: "POST", body: bytesOf(body), signal }),
    create: (fields: object | string = { name: "r" }) =>
      hub.fetch("/rooms", { method: "POST", body: bytesOf(fields) }),
    join: (id: string, more: object = {}, room = code) =>
      hub.fetch(`/rooms/${room}/join`, {
        json: { id, nickname: id, model: "m", endpoint: nowhere, transport: "tunnel", ...more },
      }),
    async raw(bytes: string, onConnected?: (socket: Socket) => void) {
      const { status, headers, error } = await sendBytes(hub.port, bytes, onConnected);
      return told(status, error?.code, headers["retry-after"], headers["x-should-retry"]);
    },
    /** Waits until so many requests are with the provider. */
    running: (count: number) => provider.waitFor(({ openGenerations: all }) => all === count),
    load: async () => (await ada()).load,
    status: async () => (await ada()).status,
    isConnected: async () => (await ada()).connection.connected,
    rooms: async () => (await hub.client.listRooms()).map(({ code }) => code),
    ids: async (room = code) =>
      (await hub.client.listParticipants(room)).map(({ id }) => id).join(),
    /** After three requests and responses, what was sent before has arrived. */
    async settle() {
      for (let turn = 0; turn < 3; turn++) await hub.client.health();
    },
    async [Symbol.asyncDispose]() {
      expect((await hub.client.health()).status).toBe("ok");
      await hub[Symbol.asyncDispose]();
      await provider.close();
    },
  };
}

/** `201`, or status, code and retry signal: `503 hub_overloaded, later 2`. */
export async function outcome(asking: Promise<Response>): Promise<string> {
  const answer = await asking;
  const text = await answer.text();
  const code = answer.ok ? "" : (JSON.parse(text) as { error: { code: string } }).error.code;
  const { headers } = answer;
  return told(answer.status, code, headers.get("retry-after"), headers.get("x-should-retry"));
}

function told(status: number, code: unknown, later?: string | null, retry?: string | null): string {
  const signal = later ? `, later ${later}` : retry === "false" ? ", stop" : "";
  return typeof code === "string" ? `${status} ${code}`.trim() + signal : `${status}${signal}`;
}

function bytesOf(body: object | string): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** A JSON object of exactly so many bytes. */
export function padded(bytes: number, fields: object = chat): string {
  const empty = JSON.stringify({ ...fields, pad: "" });
  return `${empty.slice(0, -2)}${"x".repeat(bytes - empty.length)}"}`;
}

export const lines = (...all: string[]) => [...all, "", ""].join("\r\n");
export const getHealth = (...more: string[]) => lines("GET /health HTTP/1.1", "host: hub", ...more);
export const copies = (count: number, of: string) => Array<string>(count).fill(of);
export const headTooLarge = "431 headers_too_large";
export const postHead = (path: string, bytes: number) =>
  lines(`POST ${path} HTTP/1.1`, "host: hub", `content-length: ${bytes}`);
/** The beginning of a room's creation that lacks so many bytes. */
export const slowBody = (missing: number) => `${postHead("/rooms", 14 + missing)}{"name":"slow"`;

export function withPad(bytes: number): Record<string, unknown> {
  return JSON.parse(padded(bytes, {})) as Record<string, unknown>;
}

/** A tunnel spoken by hand: ada's, greeted by the hub. */
export async function dial(lab: Lab, autoPong = true) {
  const { tunnel, participantToken } = await lab.hub.client.join(lab.code, {
    ...{ id: "ada", nickname: "Ada", model: "fake-model", endpoint: nowhere, transport: "tunnel" },
  });
  const headers = { authorization: `Bearer ${participantToken}` };
  const socket = new WebSocket(tunnel.url, "roomhub.tunnel.v1", { headers, autoPong });
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  const greeted = new Promise<Buffer>((resolve) => socket.once("message", resolve));
  socket.on("open", () =>
    socket.send(frame(1, JSON.stringify({ version: 1, maxStreams: 8, windowBytes: 65_536 }))),
  );
  const hello = await within(greeted, "the hub's HELLO");
  return { socket, closed, hello: JSON.parse(hello.toString("utf8", 9)) as unknown };
}

/** A frame of the tunnel itself. */
export function frame(type: number, payload: string): Buffer {
  const header = Buffer.alloc(9, 0);
  header[0] = type;
  header.writeUInt32BE(payload.length, 5);
  return Buffer.concat([header, Buffer.from(payload)]);
}

/** Where the limits of what a room stores are tested. */
export const limitsOfRooms = {
  aliasesPerRoom: { testedIn: "packages/hub/src/operations/aliases.test.ts" },
  roomAliasBytes: { testedIn: "packages/hub/src/operations/aliases.test.ts" },
  keysPerRoom: { testedIn: "packages/hub/src/operations/keys.test.ts" },
  keyFailuresBurst: { testedIn: "packages/hub/src/operations/access.test.ts" },
  keyFailureIntervalMs: { testedIn: "packages/hub/src/operations/access.test.ts" },
};

/** Whether something has ended yet. */
export function watched(work: Promise<unknown>): () => boolean {
  let isOver = false;
  const over = () => (isOver = true);
  work.then(over, over);
  return () => isOver;
}

/** For `ms` it does not happen; one more, and it does. */
export async function exactlyAfter(
  lab: Lab,
  ms: number,
  hasHappened: () => boolean,
): Promise<void> {
  await lab.time.advance(ms);
  await lab.settle();
  expect(hasHappened()).toBe(false);
  await lab.time.advance(1);
  await until("what the limit brings", hasHappened, Boolean);
}
