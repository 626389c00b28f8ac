import { describe, expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { join, PATHS } from "../support/hub/joining.ts";
import { ledgerOf, ledgerProblems, settled } from "../support/hub/ledger.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";

async function ask(hub: TestHub, code: string, fields: Record<string, unknown> = {}) {
  const answer = await hub.fetch(`/rooms/${code}/v1/chat/completions`, {
    json: { model: "*", messages: userSays("hello"), ...fields },
  });
  const body = (await answer.json()) as { error?: { code: string; message: string } };
  return {
    status: answer.status,
    by: answer.headers.get("x-roomhub-participant"),
    attempts: answer.headers.get("x-roomhub-attempts"),
    shouldRetry: answer.headers.get("x-should-retry"),
    error: body.error,
  };
}

describe.each(PATHS)("over %s, a participant whose key is wrong", (path) => {
  test("costs no request for * while another can serve it: 20 of 20 succeed", async () => {
    await using healthy = await startFakeProvider();
    await using locked = await startFakeProvider({ apiKey: "right" });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { id: "ada", endpoint: healthy.url });
    await using _eve = await join(path, hub, code, { id: "eve", endpoint: locked.url });
    const events = await hub.watch(code);
    const answers = [];
    for (let count = 0; count < 20; count++) answers.push(await ask(hub, code));
    expect(answers.map(({ status, by }) => `${status} ${by}`)).toEqual(Array(20).fill("200 ada"));
    await settled(events, 20);
    expect(ledgerProblems(events)).toEqual([]);
    expect(ledgerOf(events).every(({ ends }) => ends[0]?.kind === "llm.complete")).toBe(true);
  });
});
