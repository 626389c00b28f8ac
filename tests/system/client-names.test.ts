import type { ParticipantNotice } from "@roomhub/participant";
import type { ClientIdentity } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { join, joinTunnel, PATHS } from "../support/hub/joining.ts";
import { startRoutedProvider } from "../support/providers/routed-provider.ts";
import { openResponsesRoom } from "../support/hub/responses-room.ts";
import { connectResponses } from "../support/clients/responses-client.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";

const fingerprint = expect.stringMatching(/^[0-9a-f]{8}$/) as string;

function startProvider() {
  return startRoutedProvider({
    "POST /chat/completions": () => ({ json: { choices: [], object: "chat.completion" } }),
  });
}

async function chat(
  hub: TestHub,
  code: string,
  headers: HeadersInit,
  fields: object = {},
): Promise<Response> {
  const json = { model: "*", messages: [], ...fields };
  const response = await hub.fetch(`/v1/rooms/${code}/chat/completions`, { json, headers });
  await response.text();
  return response;
}

describe.each(PATHS)("over %s", (path) => {
  test.each<[HeadersInit, object, object]>([
    [{ authorization: "Bearer as-alice" }, {}, { kind: "name", id: "alice" }],
    [{ "x-api-key": "as-alice" }, {}, { kind: "name", id: "alice" }],
    [{}, {}, { kind: "none", id: "" }],
    [{ authorization: "Bearer sk-canary" }, {}, { kind: "key", id: fingerprint }],
    [
      { authorization: "Bearer as-web", "x-openwebui-user-name": "bob" },
      { user: "eve" },
      { kind: "name", id: "web", user: "bob" },
    ],
    [{}, { user: "bob@mail.example" }, { kind: "none", id: "", user: fingerprint }],
  ])("%j and %j in the body are the client %j in every event", async (headers, fields, client) => {
    await using provider = await startProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: provider.url });
    const events = await hub.watch(code);
    await chat(hub, code, headers, fields);
    expect((await events.next("llm.request")).data).toMatchObject({ client });
    expect((await events.next("llm.complete")).data).toMatchObject({ client });
    await chat(hub, code, headers, { ...fields, model: "other" });
    expect((await events.next("llm.error")).data).toMatchObject({ client });
  });

  test("a key, a user and their fingerprints reach no provider, and no key is in an event, log line or response", async () => {
    await using provider = await startProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: provider.url });
    const events = await hub.watch(code);
    const sent: HeadersInit[] = [
      { authorization: "Bearer sk-canary-1" },
      { authorization: "Basic canary-2" },
      { "x-api-key": "sk-canary-3" },
      ...["rhp_canary-4", "rhc_canary-5"].flatMap((credential): HeadersInit[] => [
        { authorization: `Bearer ${credential}` },
        { "x-api-key": credential },
        { "x-openwebui-user-name": credential },
      ]),
      { "x-openwebui-user-id": "canary 6 of the users" },
    ];
    const responses: unknown[] = [];
    for (const headers of sent) {
      responses.push([...(await chat(hub, code, headers)).headers]);
    }
    await events.waitFor("every end", () => events.of("llm.complete").length === sent.length);
    const shown = JSON.stringify([responses, events.of("llm.request"), events.of("llm.complete")]);
    expect(shown).toContain('"kind":"key"');
    // Not `toMatch`, whose message would be all of it.
    expect(/canary.{0,40}/.exec(shown + hub.log.join(""))).toBeNull();
    const received = JSON.stringify(provider.requests);
    const ids = events.of("llm.complete").flatMap(({ data }) => {
      const { id, user } = data["client"] as ClientIdentity;
      return [id, user ?? ""];
    });
    for (const text of ["canary", ...ids.filter((id) => id !== "")]) {
      expect(received.includes(text), text).toBe(false);
    }
  });
});

test("a participant's own notices name the client, and a fingerprint lasts as long as the hub runs", async () => {
  await using provider = await startProvider();
  const ids = new Set<string>();
  for (let run = 0; run < 2; run++) {
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const notices: ParticipantNotice[] = [];
    const onNotice = (notice: ParticipantNotice) => void notices.push(notice);
    await using _ada = await joinTunnel(hub, code, {
      ...{ model: "m", endpoint: provider.url },
      onNotice,
    });
    for (let time = 0; time < 2; time++) {
      await chat(hub, code, { authorization: "Bearer sk-canary" });
    }
    await chat(hub, code, { authorization: "Bearer as-alice" });
    const clients = notices.flatMap((notice) =>
      notice.kind === "request-started" ? [notice.client] : [],
    );
    expect(clients).toEqual([
      { kind: "key", id: fingerprint },
      clients[0],
      { kind: "name", id: "alice" },
    ]);
    ids.add(clients[0]?.id ?? "");
  }
  expect(ids.size).toBe(2);
});

test("console lines name the client, and leave it out when it reveals nothing", async () => {
  await using provider = await startProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await using _ada = await join("direct", hub, code, { model: "m", endpoint: provider.url });
  await chat(hub, code, { authorization: "Bearer as-alice" }, { user: "bob" });
  await chat(hub, code, {});
  await hub.hub.close();
  const lines = hub.log
    .join("")
    .split("\n")
    .filter((line) => line.includes("llm.complete"));
  expect(lines[0]).toContain(' client="alice/bob" ');
  expect(lines[1]).not.toContain("client=");
});

test("turns on a socket are by the client of its handshake, and by the user that each names", async () => {
  await using room = await openResponsesRoom();
  await using client = await connectResponses(`${room.hub.url}/v1/rooms/${room.code}/responses`, {
    headers: { authorization: "Bearer as-alice" },
  });
  for (const user of ["bob", undefined]) await client.turn({ model: "*", input: "hi", user });
  await room.events.waitFor("two ends", () => room.events.of("llm.complete").length === 2);
  expect(room.events.of("llm.complete").map(({ data }) => data["client"])).toEqual([
    { kind: "name", id: "alice", user: "bob" },
    { kind: "name", id: "alice" },
  ]);
});
