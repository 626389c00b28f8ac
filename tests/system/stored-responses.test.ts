import { describe, expect, test } from "vitest";
import { join, joinDirect, PATHS } from "../support/hub/joining.ts";
import { ledgerOf } from "../support/hub/ledger.ts";
import { startRoutedProvider, type Routes } from "../support/providers/routed-provider.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";

const stateful = { storedResponses: "supported", openResponses: "supported" } as const;

/** A provider that keeps the responses it makes, under ids of its own. */
function keeping(prefix: string): Routes {
  let count = 0;
  const made = (): { id: string } => ({ id: `${prefix}_${++count}` });
  return {
    "POST /responses": ({ body }) => {
      const response = { ...made(), object: "response", status: "completed", output: [] };
      if (!(JSON.parse(body) as { stream?: boolean }).stream) return { json: response };
      const created = { type: "response.created", sequence_number: 0, response };
      const completed = { type: "response.completed", sequence_number: 1, response };
      const events = [created, completed].map(
        (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
      );
      return { stream: events.join("") };
    },
    [`GET /responses/${prefix}_1`]: ({ url }) => ({ json: { id: `${prefix}_1`, url } }),
    [`DELETE /responses/${prefix}_1`]: () => ({ json: { id: `${prefix}_1`, deleted: true } }),
    [`POST /responses/${prefix}_1/cancel`]: () => ({ json: { status: "cancelled" } }),
    [`GET /responses/${prefix}_1/input_items`]: ({ url }) => ({ json: { data: [], url } }),
  };
}

function respond(hub: TestHub, code: string, body: Record<string, unknown>): Promise<Response> {
  return hub.fetch(`/v1/rooms/${code}/responses`, { json: { input: "hi", ...body } });
}

async function codeOf(answer: Response): Promise<string> {
  return ((await answer.json()) as { error: { code: string } }).error.code;
}

describe.each(PATHS)("over %s", (path) => {
  test("a stored response is read, listed, cancelled and deleted at its maker", async () => {
    await using ada = await startRoutedProvider(keeping("a"));
    await using bob = await startRoutedProvider(keeping("b"));
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const given = { model: "m", capabilities: stateful };
    await using _ada = await join(path, hub, code, { ...given, id: "ada", endpoint: ada.url });
    await using _bob = await join(path, hub, code, { ...given, id: "bob", endpoint: bob.url });
    const events = await hub.watch(code);
    for (const model of ["ada", "bob"]) await (await respond(hub, code, { model })).text();
    const base = `/rooms/${code}/v1/responses/b_1`;
    const query = "?include[]=message.output_text.logprobs";
    const got = await hub.fetch(base + query);
    expect(got.headers.get("x-roomhub-participant")).toBe("bob");
    expect(await got.json()).toEqual({ id: "b_1", url: `/v1/responses/b_1${query}` });
    const items = await hub.fetch(`${base}/input_items?limit=2&after=x`);
    expect(await items.json()).toMatchObject({
      url: "/v1/responses/b_1/input_items?limit=2&after=x",
    });
    const cancelled = await hub.fetch(`${base}/cancel`, { method: "POST" });
    expect(await cancelled.json()).toEqual({ status: "cancelled" });
    const deleted = await hub.fetch(base, { method: "DELETE" });
    expect(await deleted.json()).toEqual({ id: "b_1", deleted: true });
    expect(ada.requests.filter(({ url }) => url.includes("b_1"))).toEqual([]);
    // These generated nothing, so no event reports them.
    await respond(hub, code, { model: "ada" });
    await events.waitFor("three ends", () => ledgerOf(events).length === 3);
  });

  test.each([false, true])(
    "a request goes on from a response at its maker, whoever else serves the model (stream %s)",
    async (stream) => {
      await using ada = await startRoutedProvider(keeping("a"));
      await using bob = await startRoutedProvider(keeping("b"));
      await using hub = await startTestHub();
      const code = await hub.createRoom();
      const given = { model: "m", capabilities: stateful };
      await using _ada = await join(path, hub, code, { ...given, id: "ada", endpoint: ada.url });
      await using _bob = await join(path, hub, code, { ...given, id: "bob", endpoint: bob.url });
      await (await respond(hub, code, { model: "bob", stream })).text();
      for (const model of ["*", "m", "model:m", "bob"]) {
        const answer = await respond(hub, code, { model, previous_response_id: "b_1", stream });
        expect(answer.headers.get("x-roomhub-participant")).toBe("bob");
        await answer.text();
      }
      expect(bob.requests.at(-1)?.body).toContain('"previous_response_id":"b_1"');
      const elsewhere = await respond(hub, code, { model: "ada", previous_response_id: "b_1" });
      expect(elsewhere.status).toBe(400);
      expect(await codeOf(elsewhere)).toBe("previous_response_not_found");
    },
  );
});

test.each([
  ["nobody made", "x_1"],
  ["somebody made who left", "a_1"],
])("a response %s is not found, and no provider is called", async (_what, id) => {
  await using ada = await startRoutedProvider(keeping("a"));
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const given = { model: "m", capabilities: stateful, endpoint: ada.url };
  await joinDirect(hub, code, { ...given, id: "ada" });
  await (await respond(hub, code, { model: "ada" })).text();
  await hub.fetch(`/v1/rooms/${code}/participants/ada`, { method: "DELETE" });
  await joinDirect(hub, code, { ...given, id: "ada" });
  const before = ada.requests.filter(({ url }) => url.includes("responses")).length;
  const events = await hub.watch(code);
  const got = await hub.fetch(`/rooms/${code}/v1/responses/${id}`);
  expect(got.status).toBe(404);
  expect(await codeOf(got)).toBe("response_not_found");
  const next = await respond(hub, code, { model: "*", previous_response_id: id });
  expect(next.status).toBe(400);
  expect(await next.json()).toMatchObject({
    error: { code: "previous_response_not_found", param: "previous_response_id" },
  });
  const told = await events.next("llm.error");
  expect(told.data).toMatchObject({ code: "previous_response_not_found", stage: "routing" });
  expect(ada.requests.filter(({ url }) => url.includes("responses"))).toHaveLength(before);
});

test("a provider that would ignore the previous response is not called", async () => {
  await using ada = await startRoutedProvider(keeping("a"));
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const capabilities = { openResponses: "supported", storedResponses: "unsupported" } as const;
  await joinDirect(hub, code, { model: "m", capabilities, endpoint: ada.url });
  await (await respond(hub, code, { model: "*" })).text();
  const next = await respond(hub, code, { model: "*", previous_response_id: "a_1" });
  expect(next.status).toBe(400);
  expect(await codeOf(next)).toBe("previous_response_not_found");
  expect(ada.requests.filter(({ url }) => url.endsWith("/responses"))).toHaveLength(1);
});

test("a response with store: false belongs to no participant", async () => {
  await using ada = await startRoutedProvider(keeping("a"));
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { model: "m", capabilities: stateful, endpoint: ada.url });
  await (await respond(hub, code, { model: "*", store: false })).text();
  const next = await respond(hub, code, { model: "*", previous_response_id: "a_1" });
  expect(await codeOf(next)).toBe("previous_response_not_found");
});

test("a hub at its limit of running requests refuses requests about stored responses too", async () => {
  await using ada = await startRoutedProvider({
    ...keeping("a"),
    "POST /chat/completions": () => "silence",
  });
  await using hub = await startTestHub({ limits: { inFlightPerHub: 1 } });
  const code = await hub.createRoom();
  await joinDirect(hub, code, { model: "m", capabilities: stateful, endpoint: ada.url });
  await (await respond(hub, code, { model: "*" })).text();
  const events = await hub.watch(code);
  const leaving = new AbortController();
  hub
    .fetch(`/v1/rooms/${code}/chat/completions`, {
      json: { model: "*", messages: [] },
      signal: leaving.signal,
    })
    .catch(() => undefined);
  await events.next("llm.request");
  const got = await hub.fetch(`/rooms/${code}/v1/responses/a_1`);
  expect([got.status, await codeOf(got)]).toEqual([503, "hub_overloaded"]);
  leaving.abort();
  await events.next("llm.error");
  expect((await hub.fetch(`/rooms/${code}/v1/responses/a_1`)).status).toBe(200);
});

test("a query with characters an agent would refuse is refused here", async () => {
  await using ada = await startRoutedProvider(keeping("a"));
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { model: "m", capabilities: stateful, endpoint: ada.url });
  await (await respond(hub, code, { model: "*" })).text();
  const got = await hub.fetch(`/rooms/${code}/v1/responses/a_1?x=/../y`);
  expect(got.status).toBe(400);
});
