import { expect, vi } from "vitest";
import { ModelServer, type ModelServerOptions } from "./model-server.ts";
import {
  type SeenRequest,
  type Heard,
  listen,
  type Reply,
  type ScriptedServer,
  scriptServer,
} from "./scripted-server.fixture.ts";

export const native = "POST /v1/responses";
export const chat = "POST /v1/chat/completions";
export const body = (more: object = {}) => [
  Buffer.from(JSON.stringify({ model: "m", input: "hi", ...more })),
];
export const completion = JSON.stringify({
  object: "chat.completion",
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }],
});
export const response: Reply = { body: '{"object":"response","error":null}' };

type Script = (requested: SeenRequest) => Reply | undefined;

export function start(
  script: Script | Record<string, Reply>,
  over: Partial<ModelServerOptions> = {},
) {
  const reply: Script = typeof script === "function" ? script : ({ line }) => script[line];
  const provider = scriptServer(reply);
  const reported: object[] = [];
  let ids = 0;
  const server = new ModelServer({
    call: provider.call,
    baseUrl: "http://127.0.0.1:5000/v1",
    headers: () => ({}),
    declared: () => ({}),
    onCapabilities: (capabilities) => reported.push({ ...capabilities }),
    source: { newId: (prefix) => `${prefix}_${++ids}`, nowSeconds: () => 1_700_000_000 },
    ...over,
  });
  return { provider, server, reported };
}

export async function send(server: ModelServer, more: object = {}): Promise<Heard> {
  const heard = listen(server, { body: body(more) });
  await heard.closed;
  return heard;
}

/** Probes, and lets what follows in the background come to its end. */
export async function probe(server: ModelServer, provider: ScriptedServer): Promise<void> {
  await server.probe(1_000);
  await vi.waitFor(() => expect(provider.open).toBe(0));
  await new Promise((resolve) => setImmediate(resolve));
}
