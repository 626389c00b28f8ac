import { expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { joinDirect } from "../support/hub/joining.ts";
import { sendBytes } from "../support/clients/raw-http.ts";
import { runCommand } from "../support/programs/run-command.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";

const chat = '{"model":"*","messages":[{"role":"user","content":"to be or not"}]}';

test("a bare curl join makes a working participant, called with its authHeaders", async () => {
  await using hub = await startTestHub();
  await using provider = await startFakeProvider({ apiKey: "k" });
  const code = await hub.createRoom();
  const endpoint = `http://127.0.0.1:${provider.port}/v1`;
  const joined = await runCommand("curl", [
    "-sS",
    "-d",
    `{"id":"p","nickname":"n","model":"m","endpoint":"${endpoint}","authHeaders":{"Authorization":"Bearer k"}}`,
    `${hub.url}/rooms/${code}/join`,
  ]);
  const { participant } = JSON.parse(joined.stdout) as { participant: Record<string, unknown> };
  expect(participant).toMatchObject({
    id: "p",
    status: "online",
    connection: { kind: "tunnel", connected: true, path: "direct" },
  });

  const answered = await runCommand("curl", [
    "-sS",
    "-H",
    "Authorization: Bearer the-clients-own",
    "-d",
    chat,
    `${hub.url}/rooms/${code}/v1/chat/completions`,
  ]);
  expect(JSON.parse(answered.stdout)).toMatchObject({
    choices: [{ message: { content: "to be or not" } }],
  });
  const { headers, json } = provider.requests.at(-1)!;
  expect(headers.authorization).toBe("Bearer k");
  expect(json["model"]).toBe("m");
});

test("an upgrade to h2c is ignored and the request is served, with its body", async () => {
  await using hub = await startTestHub();
  await using provider = await startFakeProvider();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: provider.url });
  const path = `/rooms/${code}/v1/chat/completions`;

  const byCurl = await runCommand("curl", ["-sS", "--http2", "-d", chat, hub.url + path]);
  expect(byCurl.stderr).toBe("");
  expect(JSON.parse(byCurl.stdout)).toMatchObject({
    choices: [{ message: { content: "to be or not" } }],
  });

  const bySocket = await sendBytes(
    hub.port,
    [
      `POST ${path} HTTP/1.1`,
      "host: hub",
      "connection: Upgrade, HTTP2-Settings",
      "upgrade: h2c",
      "http2-settings: AAMAAABkAAQCAAAAAAIAAAAA",
      `content-length: ${chat.length}`,
      "",
      chat,
    ].join("\r\n"),
  );
  expect(bySocket.status).toBe(200);
  expect(JSON.parse(bySocket.body)).toMatchObject({
    choices: [{ message: { content: "to be or not" } }],
  });
});

test("curl --http2 joins, watches and leaves like any other client", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const created = await runCommand("curl", [
    "-sS",
    "--http2",
    "-d",
    '{"name":"two"}',
    `${hub.url}/rooms`,
  ]);
  expect(JSON.parse(created.stdout)).toMatchObject({ room: { name: "two" } });
  const watched = await runCommand("curl", [
    "-sS",
    "--http2",
    "--max-time",
    "0.5",
    `${hub.url}/rooms/${code}/events`,
  ]);
  expect(watched.stdout).toContain("event: room:created");
});
