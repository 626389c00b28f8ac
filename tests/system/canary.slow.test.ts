import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileRoomStore } from "@roomhub/hub";
import { expect, test } from "vitest";
import { type Behaviour, startFakeProvider } from "../support/providers/fake-provider.ts";
import { recordEvents } from "../support/hub/event-recorder.ts";
import { joinDirect, joinTunnel, PATHS } from "../support/hub/joining.ts";
import { settled } from "../support/hub/ledger.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { connectResponses } from "../support/clients/responses-client.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { until } from "../support/waiting.ts";

const password = "CANARY-password-7f3a";
const key = "CANARY-key-b41c9e02";
const localKey = "CANARY-local-55aa01";
const instructions = "CANARY-instructions";
const machineSecret = "CANARY-machine".padEnd(43, "x");
const clientKey = "CANARY-client-09e7";
const clientUser = "CANARY-user@mail.example";
const secrets = [password, key, localKey, instructions, machineSecret, clientKey, clientUser];

/** A provider that repeats what it was sent, in every place an error has. */
function echoes(sent: string): Behaviour[] {
  const message = `Incorrect API key provided: Bearer ${sent}`;
  const body = { error: { message, type: key, param: null, code: `bad-${key}` } };
  const raw = (type: string, text: string) => ({
    kind: "raw" as const,
    bytes: `HTTP/1.1 200 ${key}\r\ncontent-type: ${type}\r\nx-echo: ${key}\r\nconnection: close\r\n\r\n${text}`,
  });
  return [
    ...[400, 401, 403, 404, 422, 429, 500, 503].map((status) => ({
      kind: "status" as const,
      status,
      body,
      headers: { "x-echo": key },
    })),
    { kind: "status", status: 400, body: `<html>${message}</html>` },
    { kind: "status", status: 400, body: { error: message } },
    { kind: "status", status: 302, headers: { location: `http://127.0.0.1:1/?key=${key}` } },
    raw(`text/${key}`, message),
    raw("application/json", JSON.stringify({ error: `Unexpected ${key}` })),
    raw("application/json", `${key} is no JSON`),
    { kind: "raw", bytes: `${message}\r\n\r\n` },
    { kind: "raw", bytes: `HTTP/1.1 999 ${key}\r\n\r\n` },
    { kind: "normal" },
    { kind: "no-marker" },
  ];
}

test.for(
  PATHS.flatMap((path) => (["text", "json"] as const).map((logFormat) => ({ path, logFormat }))),
)(
  "no password and no key is in any answer, event, log line or file ($path, $logFormat log)",
  async ({ path, logFormat }) => {
    await using folder = await temporaryFolder();
    const stateFile = join(folder.path, "rooms.json");
    const said: Record<string, string> = {};
    const notices: unknown[] = [];
    let queue: Behaviour[] = [];
    await using provider = await startFakeProvider({ behave: () => queue.shift() });
    let log: string[];
    let hostToken = "";
    {
      await using hub = await startTestHub({ logFormat, store: fileRoomStore(stateFile) });
      ({ log } = hub);
      const streams = [await hub.watch(undefined, "colon"), await hub.watch(undefined, "dot")];
      const ask = async (
        title: string,
        requestPath: string,
        init: Parameters<typeof hub.fetch>[1] = {},
      ) => {
        const answer = await hub.fetch(requestPath, init);
        said[`${Object.keys(said).length} ${title}`] =
          `${JSON.stringify([...answer.headers])} ${await answer.text()}`;
        return answer;
      };

      await ask("create", "/rooms", { json: { name: "lab", password } });
      // Its creator gets the host token, and that once.
      const [created = "", response = ""] = Object.entries(said)[0] ?? [];
      [hostToken = ""] = /rhh_[\w-]{43}/.exec(response) ?? [];
      expect(hostToken).not.toBe("");
      said[created] = response.replace(hostToken, "");
      const code = (await hub.client.listRooms())[0]!.code;
      streams.push(await hub.watch(code, "colon"), await hub.watch(code, "dot"));
      const wishes = {
        endpoint: provider.url,
        password,
        authHeaders: { Authorization: `Bearer ${key}`, "X-Api-Key": key },
      };
      await using _ada =
        path === "direct"
          ? await joinDirect(hub, code, wishes)
          : await joinTunnel(hub, code, {
              ...wishes,
              headers: { "x-local": localKey },
              onNotice: (notice) => notices.push(notice),
            });
      const registration = {
        id: "eve",
        nickname: "Eve",
        model: "m",
        ...wishes,
        config: { instructions },
        machineSecret,
      };
      await ask("join", `/rooms/${code}/join`, { json: registration });
      await ask("change", `/v1/rooms/${code}/participants/eve`, {
        method: "PUT",
        json: { authHeaders: wishes.authHeaders },
      });
      await ask("bad id", `/rooms/${code}/join`, { json: { ...registration, id: "any" } });
      await ask("bad header", `/rooms/${code}/join`, {
        json: { ...registration, id: "x", authHeaders: { Host: key } },
      });
      await ask("bad value", `/rooms/${code}/join`, {
        json: { ...registration, id: "x", authHeaders: { a: `${key}\r\n` } },
      });
      await ask("bad endpoint", `/rooms/${code}/join`, {
        json: { ...registration, id: "x", endpoint: `http://u:${key}@127.0.0.1/` },
      });
      await ask("bad JSON", `/rooms/${code}/join`, {
        method: "POST",
        body: `{"password":"${password}", ${key}`,
      });
      await ask("wrong password", `/rooms/${code}/join`, {
        json: { ...registration, id: "x", password: `${password}!` },
      });
      for (const listing of [
        "/rooms",
        `/rooms/${code}`,
        `/rooms/${code}/participants`,
        `/rooms/${code}/v1/models`,
      ]) {
        await ask(listing, listing);
      }
      for (const sent of [hostToken, `${hostToken.slice(0, -4)}aaaa`]) {
        await ask("alias", `/rooms/${code}/aliases`, {
          json: { pattern: "claude-*", targets: ["ada", "*"] },
          headers: { "x-host-token": sent, origin: "https://app.example" },
        });
      }
      await ask("aliases", `/rooms/${code}/aliases`);
      await ask("eve leaves", `/rooms/${code}/leave/eve`, { method: "DELETE" });

      const behaviours = echoes(path === "tunnel" ? `${key} ${localKey}` : key);
      let asked = 0;
      for (const surface of ["chat/completions", "responses"]) {
        for (const stream of [false, true]) {
          const input =
            surface === "responses" ? { input: "hello" } : { messages: userSays("hello") };
          const generate = async (behaviour: Behaviour) => {
            // After a 503 the same participant is called once more, seconds later: not for every secret.
            queue = stream ? [behaviour] : [behaviour, behaviour];
            await ask(
              `${surface} ${stream} ${JSON.stringify(behaviour).slice(0, 60)}`,
              `/rooms/${code}/v1/${surface}`,
              {
                json: { model: "ada", stream, ...input },
                headers: {
                  authorization: `Bearer ${clientKey}`,
                  "x-openwebui-user-name": clientUser,
                },
              },
            );
            asked++;
          };
          for (const behaviour of behaviours) {
            await generate(behaviour);
            if (behaviour.kind !== "status" || behaviour.status !== 401) continue;
            await ask("change", `/v1/rooms/${code}/participants/ada`, {
              method: "PUT",
              json: { authHeaders: wishes.authHeaders },
            });
            await generate({ kind: "normal" });
          }
        }
      }
      for (const stream of streams) await settled(stream, asked);
      for (const [index, stream] of streams.entries()) said[`event stream ${index}`] = stream.text;
    }
    expect(provider.requests.at(-1)!.headers.authorization).toBe(`Bearer ${key}`);
    said["log"] = log.join("");
    said["state file"] = await readFile(stateFile, "utf8");
    said["notices"] = JSON.stringify(notices);
    expect(log.join("").split("\n").length).toBeGreaterThan(100);
    const leaks = Object.entries(said).flatMap(([where, text]) =>
      [...secrets, hostToken]
        .filter((secret) => text.includes(secret))
        .map(
          (secret) =>
            `${secret} in ${where}: ${text.slice(Math.max(0, text.indexOf(secret) - 80), text.indexOf(secret) + 40)}`,
        ),
    );
    expect(leaks).toEqual([]);
  },
);

test.for(
  PATHS.flatMap((path) => (["text", "json"] as const).map((logFormat) => ({ path, logFormat }))),
)(
  "no key of a closed room is anywhere but in the response that made it ($path, $logFormat log)",
  async ({ path, logFormat }) => {
    await using folder = await temporaryFolder();
    const stateFile = join(folder.path, "rooms.json");
    const said: Record<string, string> = {};
    const notices: unknown[] = [];
    let isBroken = false;
    // It repeats every header that it was sent.
    await using provider = await startFakeProvider({
      behave: ({ rawHeaders }) =>
        isBroken
          ? { kind: "status", status: 400, body: { error: rawHeaders.join(" ") } }
          : undefined,
    });
    let log: string[];
    const keys: string[] = [];
    {
      await using hub = await startTestHub({
        ...{ logFormat, closed: true },
        store: fileRoomStore(stateFile),
      });
      ({ log } = hub);
      const created = await hub.client.createRoom({ name: "lab" });
      const { code } = created.room;
      const base = `/rooms/${code}`;
      const asHost = { "x-host-token": created.hostToken ?? "" };
      const made = async (below: string, json: object) => {
        const response = await hub.fetch(base + below, { json, headers: asHost });
        const value = ((await response.json()) as { key: { value: string } }).key.value;
        keys.push(value);
        return value;
      };
      const first = created.key?.value ?? "";
      keys.push(first);
      const used = await made("/keys", { name: "bob", may: ["use", "watch"] });
      await made("/keys", { name: "old" });
      const rotated = await made("/keys/old/rotate", { graceMs: 60_000 });
      const ask = async (requestPath: string, init: Parameters<typeof hub.fetch>[1] = {}) => {
        const answer = await hub.fetch(requestPath, init);
        const text = answer.headers.get("content-type")?.startsWith("text/event-stream")
          ? "a stream"
          : await answer.text();
        const title = `${Object.keys(said).length} ${init.method ?? ""} ${requestPath}`;
        said[title] = `${answer.status} ${JSON.stringify([...answer.headers])} ${text}`;
        return answer.status;
      };
      const headers = { authorization: `Bearer ${used}` };
      const streams = await Promise.all(
        [base, `/v1${base}`].map((at) => recordEvents(`${hub.url}${at}/events`, headers)),
      );
      await using _ada =
        path === "direct"
          ? await hub
              .fetch(`${base}/join`, {
                json: { id: "ada", nickname: "Ada", model: "fake-model", endpoint: provider.url },
                headers: { authorization: `Bearer ${first}` },
              })
              .then(() => ({ [Symbol.asyncDispose]: () => Promise.resolve() }))
          : await joinTunnel(hub, code, {
              ...{ endpoint: provider.url, key: first },
              onNotice: (notice) => notices.push(notice),
            });
      const ways = (value: string): Record<string, string>[] => [
        { authorization: `Bearer ${value}` },
        { "x-api-key": value },
        { "api-key": value },
      ];
      const bodies = {
        "chat/completions": { messages: userSays("hello") },
        responses: { input: "hello" },
        messages: { max_tokens: 9, messages: userSays("hello") },
        rerank: { query: "hello", documents: ["a"] },
        "audio/speech": { input: "hello", voice: "v" },
      };
      let served = 0;
      for (isBroken of [false, true]) {
        for (const headers of [...ways(used), ...ways(rotated)]) {
          for (const [surface, body] of Object.entries(bodies)) {
            const json = { model: "ada", ...body };
            const status = await ask(`${base}/v1/${surface}`, { json, headers });
            if (status === 200) served++;
          }
        }
      }
      expect(served).toBeGreaterThan(ways("").length * 2);
      isBroken = false;
      const socket = await connectResponses(`${hub.url}${base}/v1/responses`, { headers });
      await socket.turn({ model: "ada", input: "hello" });
      await socket.turn({ model: "unknown", input: "hello" });
      said["socket"] = JSON.stringify(socket.events);
      for (const headers of [...ways(used), ...ways(`${used}x`), asHost]) {
        for (const below of ["", "/participants", "/v1/models", "/requests", "/route?model=ada"]) {
          await ask(base + below, { headers });
        }
        await ask(`${base}/keys`, { headers });
        await ask(`/rooms/QQQQQQ/v1/models?key=x`, { headers });
        await ask(`/rooms`, { headers });
        await ask(`${base}/v1/chat/completions`, { headers, method: "POST", body: `{"a":` });
      }
      await ask(`${base}/keys/bob`, { method: "DELETE", headers: asHost });
      for (const headers of ways(used)) await ask(`${base}/v1/models`, { headers });
      for (const stream of streams) await stream.waitFor("its end", ({ hasEnded }) => hasEnded);
      said["events"] = streams.map(({ text }) => text).join("");
    }
    expect(said["events"]).toContain("holder");
    said["log"] = log.join("");
    said["state file"] = await readFile(stateFile, "utf8");
    said["notices"] = JSON.stringify(notices);
    said["provider"] = JSON.stringify(provider.requests.map(({ rawHeaders }) => rawHeaders));
    expect(new Set(keys).size).toBe(4);
    const leaks = Object.entries(said).flatMap(([where, text]) =>
      keys.filter((one) => text.includes(one.slice(4, -4))).map(() => `${where}: ${text}`),
    );
    expect(leaks).toEqual([]);
  },
);

test("a provider's own error in a stream is scrubbed, and the hub's report of it", async () => {
  const said = (words: string) => `data: ${JSON.stringify({ error: { message: words } })}\n\n`;
  const frame = said(`no such key: ${key}`);
  const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
  await using provider = await startFakeProvider({
    behave: () => ({ kind: "raw", bytes: head + frame }),
  });
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const authHeaders = { authorization: `Bearer ${key}` };
  await joinDirect(hub, code, { endpoint: provider.url, authHeaders });
  const events = await hub.watch(code);
  const answer = await hub.fetch(`/rooms/${code}/v1/chat/completions`, {
    json: { model: "*", stream: true, messages: userSays("hello") },
  });
  expect((await answer.text()).startsWith(said("no such key: [redacted]"))).toBe(true);
  await settled(events, 1);
  expect((await events.next("llm.error")).data["error"]).toContain("no such key: [redacted]");
  const log = () => hub.log.join("");
  await until("the log to contain it", log, (text) => text.includes("llm.error"));
  expect(events.text + log()).not.toContain(key);
});
