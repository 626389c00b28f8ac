import { expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { settled } from "../support/hub/ledger.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

const messages = userSays("a b");

test("requests of one session have a conversation in common in every llm event, in one room only", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const [code, otherCode] = [await hub.createRoom(), await hub.createRoom()];
  await using _ada = await joinTunnel(hub, code, { endpoint: provider.url });
  const events = await hub.watch(undefined);
  const send = async (room: string, model: string, session: string | undefined) => {
    const headers = new Headers(session === undefined ? [] : [["x-session-id", session]]);
    const path = `/rooms/${room}/v1/chat/completions`;
    await (await hub.fetch(path, { json: { model, messages }, headers })).text();
  };
  await send(code, "*", "secret-session");
  await send(code, "missing", "secret-session");
  await send(otherCode, "missing", "secret-session");
  await send(code, "*", "other");
  await send(code, "*", undefined);
  await settled(events, 5);

  const named = events.events.filter(({ kind }) => kind.startsWith("llm."));
  const conversations = named.map(({ data }) => data["conversation"]);
  const [first, , , elsewhere, other] = conversations;
  expect(conversations).toEqual([
    ...[first, first, first],
    elsewhere,
    other,
    other,
    ...[undefined, undefined],
  ]);
  expect(new Set([first, elsewhere, other]).size).toBe(3);
  for (const one of [first, elsewhere, other]) expect(one).toMatch(/^[0-9a-f]{8}$/);
  expect(named.filter(({ data }) => "conversation" in data)).toHaveLength(6);
  expect(events.text + hub.log.join("")).not.toContain("secret-session");
});
