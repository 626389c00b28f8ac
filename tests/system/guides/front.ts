import { type RequestOptions, request } from "node:https";
import { text } from "node:stream/consumers";
import type { RoomhubClient } from "@roomhub/client";
import { expect } from "vitest";
import type { Behaviour } from "../../support/providers/fake-provider.ts";
import { startFakeProvider } from "../../support/providers/fake-provider.ts";
import type { GuideLab } from "../../support/documents/guide-lab.ts";
import { joinTunnel } from "../../support/hub/joining.ts";
import { openaiAt, userSays } from "../../support/clients/openai-client.ts";
import type { Program } from "../../support/programs/program.ts";
import { createGate } from "../../support/waiting.ts";

/** A hub behind a proxy with TLS, whose certificate this process trusts. */
export interface Front extends AsyncDisposable {
  /** `https://localhost:<port>` */
  readonly url: string;
  readonly lab: GuideLab;
  readonly client: RoomhubClient;
  /** As the lab's, of lines that name the public address. */
  shell(text: string): Promise<string>;
  start(text: string): Program;
}

/** All that the guide promises of a proxy. */
export async function tryFront(front: Front): Promise<void> {
  const { client, lab } = front;
  const behaviour: { next: Behaviour } = { next: { kind: "normal" } };
  await using provider = await startFakeProvider({ behave: () => behaviour.next });
  await using _ada = await joinTunnel(front, lab.code, { endpoint: provider.url });
  expect(await client.getParticipant(lab.code, "ada")).toMatchObject({
    connection: { path: "tunnel" },
  });
  const openai = openaiAt(client.baseUrl(lab.code));
  const askAda = { model: "ada", messages: userSays("to be or not") };

  const gate = createGate();
  behaviour.next = { kind: "normal", gate: gate.opened, gateAfterChunks: 3 };
  const pieces: string[] = [];
  for await (const chunk of await openai.chat.completions.create({ ...askAda, stream: true })) {
    pieces.push(chunk.choices[0]?.delta.content ?? "");
    // The rest is not sent before the beginning was read.
    if (pieces.join("") !== "") gate.open();
  }
  expect(pieces.join("")).toBe("to be or not");

  behaviour.next = { kind: "normal" };
  const long = "a".repeat(8 * 1024 * 1024);
  const { choices } = await openai.chat.completions.create({
    model: "ada",
    messages: userSays(long),
  });
  expect(choices[0]?.message.content === long).toBe(true);

  await clientsLeave(openai, askAda, behaviour, provider);
  behaviour.next = { kind: "normal" };
  await eventsPass(front, () => openai.chat.completions.create(askAda));
  await addressesAreTold(front);
}

type OpenAIClient = ReturnType<typeof openaiAt>;

/** In the middle of a stream, and before a JSON response: the model stops both times. */
async function clientsLeave(
  openai: OpenAIClient,
  asking: { model: string; messages: ReturnType<typeof userSays> },
  behaviour: { next: Behaviour },
  provider: Awaited<ReturnType<typeof startFakeProvider>>,
): Promise<void> {
  behaviour.next = { kind: "hang-mid-stream" };
  const stream = await openai.chat.completions.create({ ...asking, stream: true });
  for await (const _chunk of stream) break;
  await provider.waitFor(({ aborted }) => aborted === 1);
  behaviour.next = { kind: "hang" };
  const leaving = new AbortController();
  const plain = openai.chat.completions.create(asking, { signal: leaving.signal });
  await provider.waitFor(({ openGenerations }) => openGenerations === 1);
  leaving.abort();
  await expect(plain).rejects.toThrow();
  await provider.waitFor(({ aborted }) => aborted === 2);
}

async function eventsPass(
  { client, lab: { code } }: Front,
  ask: () => Promise<unknown>,
): Promise<void> {
  const watching = new AbortController();
  const onOpen = () => {
    ask().catch((error: unknown) => watching.abort(error));
  };
  for await (const event of client.events(code, { signal: watching.signal, onOpen })) {
    if (event.type === "llm.complete") return;
  }
  watching.signal.throwIfAborted();
}

/** Wrong passwords are counted by address: by the client's, not the proxy's, and not by what a client makes up. */
async function addressesAreTold({ client, url }: Front): Promise<void> {
  const { room } = await client.createRoom({ name: "lab", password: "swordfish" });
  const guess = (localAddress: string, headers: Record<string, string> = {}) =>
    postJson(`${url}/rooms/${room.code}/join`, { localAddress, headers });
  for (let wrong = 0; wrong < 5; wrong++) expect(await guess("127.0.0.2")).toBe(401);
  expect(await guess("127.0.0.2")).toBe(429);
  expect(await guess("127.0.0.2", { "x-forwarded-for": "192.0.2.1" })).toBe(429);
  expect(await guess("127.0.0.3")).toBe(401);
}

/** @returns the response's status */
async function postJson(url: string, options: RequestOptions): Promise<number | undefined> {
  const body = { id: "eve", nickname: "Eve", model: "m", endpoint: "http://127.0.0.1:9/v1" };
  return new Promise((resolve, reject) => {
    const asking = request(url, { ...options, method: "POST", agent: false, family: 4 });
    asking.on("error", reject);
    asking.on("response", (response) => {
      text(response).then(() => resolve(response.statusCode), reject);
    });
    asking.end(JSON.stringify({ ...body, password: "tuna" }));
  });
}
