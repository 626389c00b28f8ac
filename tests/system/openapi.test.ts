import { readFileSync } from "node:fs";
import { DETAIL_EVENT_NAMES, ERROR_STATUS, EVENT_NAMES, spellEventName } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { ROUTES } from "../../packages/hub/src/http/routes.ts";
import { buildDocument, type OpenApiDocument } from "../../scripts/openapi/document.ts";
import { errorsWithoutStatus, errorsWithoutOperation } from "../../scripts/openapi/errors.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { joinDirect } from "../support/hub/joining.ts";
import { judgeAnswers } from "../support/documents/openapi-responses.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";

const file = new URL("../../packages/hub/openapi.json", import.meta.url);
const document = JSON.parse(readFileSync(file, "utf8")) as OpenApiDocument;

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

test("the document that is checked in is the one the code makes; `npm run openapi` writes it", () => {
  expect(document).toEqual(JSON.parse(JSON.stringify(buildDocument())));
});

test("it has every route of the hub, and no other", () => {
  const described = operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`);
  const routes = ROUTES.map(
    ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`,
  );
  expect(described.sort()).toEqual(routes.sort());
});

test("every operation has an id of its own, a tag that is declared, and a response that is not an error", () => {
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  const tags = document.tags.map(({ name }) => name);
  const incomplete = operations.filter(
    ({ operation }) =>
      !tags.includes(operation.tags[0] ?? "") ||
      !Object.keys(operation.responses).some((status) => Number(status) < 400),
  );
  expect(incomplete).toEqual([]);
});

test("every operation's parameters are those its path has, each once", () => {
  for (const { path, operation } of operations) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const declared = operation.parameters.flatMap((parameter) =>
      "$ref" in parameter ? [String(parameter.$ref).split("/").at(-1)] : [],
    );
    expect(declared, path).toEqual(inPath);
  }
});

test("every reference leads somewhere, and every component is referred to", () => {
  const references = new Set(
    [...JSON.stringify(document).matchAll(/"(#\/components\/[^"]+)"/g)].map(([, path]) => path),
  );
  const components = Object.entries(document.components).flatMap(([kind, named]) =>
    Object.keys(named).map((name) => `#/components/${kind}/${name}`),
  );
  expect([...references].filter((path) => !components.includes(path ?? ""))).toEqual([]);
  const unused = components.filter((path) => !references.has(path) && !path.includes("security"));
  expect(unused).toEqual(["#/components/schemas/ErrorCode"]);
});

test("every error has its status at some operation, except those that are never the status of a response", () => {
  const told = new Set(
    operations.flatMap(({ operation }) =>
      Object.entries(operation.responses).flatMap(([status, response]) => {
        const { description } = response as { description: string };
        return [...description.matchAll(/`([a-z_]+)`/g)].map(([, code]) => `${status} ${code}`);
      }),
    ),
  );
  const elsewhere: readonly string[] = [...errorsWithoutStatus, ...errorsWithoutOperation];
  const missing = Object.entries(ERROR_STATUS)
    .filter(([code]) => !elsewhere.includes(code))
    .map(([code, { status }]) => `${status} ${code}`)
    .filter((line) => !told.has(line));
  expect(missing).toEqual([]);
});

test.each(["dot", "colon"] as const)(
  "a %s stream's schema has all eight events and those of detail",
  (spelling) => {
    const name = spelling === "dot" ? "DotEvent" : "ColonEvent";
    const schema = document.components["schemas"]?.[name] as
      | { discriminator: { mapping: Record<string, string> } }
      | undefined;
    expect(Object.keys(schema?.discriminator.mapping ?? {})).toEqual(
      [...EVENT_NAMES, ...DETAIL_EVENT_NAMES].map((event) => spellEventName(event, spelling)),
    );
  },
);

describe.each(["/openapi.json", "/v1/openapi.json"])("GET %s", (path) => {
  test("serves it to pages of any origin, and responds 304 when it has not changed", async () => {
    await using hub = await startTestHub();
    const answer = await hub.fetch(path, { headers: { origin: "https://app.example" } });
    expect(await answer.json()).toEqual(document);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    const etag = answer.headers.get("etag") ?? "";
    const again = await hub.fetch(path, { headers: { "if-none-match": etag } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    const changed = await hub.fetch(path, { headers: { "if-none-match": '"another"' } });
    expect(changed.status).toBe(200);
    await changed.body?.cancel();
    const head = await hub.fetch(path, { method: "HEAD" });
    expect(head.headers.get("content-length")).toBe(String(readFileSync(file).length));
  });
});

describe("a hub responds as the document describes", () => {
  const judge = judgeAnswers(document);

  test("the judge sees a missing field, an extra field and an undocumented status", () => {
    const health = { status: "ok", version: "1", uptimeSeconds: 1, timestamp: "now" };
    expect(judge.problemsOf("GET /health", 200, health)).toBe("");
    expect(judge.problemsOf("GET /health", 200, { ...health, version: undefined })).not.toBe("");
    expect(judge.problemsOf("GET /health", 200, { ...health, more: 1 })).not.toBe("");
    expect(judge.problemsOf("GET /health", 418, health)).not.toBe("");
    expect(judge.problemsWith("ParticipantListResponse", { participants: [] })).toBe("");
    expect(judge.problemsWith("ParticipantListResponse", { participants: [{}] })).not.toBe("");
  });

  test("on rooms, participants, models and routes, in both families", async () => {
    await using provider = await startFakeProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom("swordfish");
    const participant = {
      nickname: "Ana",
      model: "fake-model",
      endpoint: provider.url,
      password: "swordfish",
      specs: { gpu: "RTX 4090", vram: 24 },
      config: { temperature: 0.2, instructions: "Be brief." },
    };
    const answered = async (route: string, json?: object) => {
      const [method = "", path = ""] = route.split(" ");
      const url = path.replace("{code}", code).replace("{id}", "ana").replace("{model}", "ana");
      const body = json === undefined ? {} : { body: JSON.stringify(json) };
      const answer = await hub.fetch(url, { method, ...body });
      const told = judge.problemsOf(route, answer.status, await answer.json());
      return told === "" ? `${answer.status} ${route}` : `${answer.status} ${route}\n${told}`;
    };
    const seen: string[] = [
      await answered("POST /rooms", { name: "lab" }),
      await answered("POST /v1/rooms", { name: "" }),
      await answered("POST /rooms/{code}/join", { ...participant, id: "ana", password: "no" }),
      await answered("POST /rooms/{code}/join", { ...participant, id: "ana" }),
      await answered("PUT /v1/rooms/{code}/participants/{id}", { nickname: "Ana B." }),
      await answered("POST /rooms/{code}/health", { id: "ana" }),
      await answered("POST /v1/rooms/{code}/participants/{id}/heartbeat"),
      await answered("GET /v1/rooms/{code}/participants/{id}"),
      await answered("GET /v1/rooms/{code}/participants/{id}/tunnel"),
    ];
    for (const path of ["/health", "/rooms", "/rooms/{code}", "/rooms/{code}/participants"]) {
      seen.push(await answered(`GET ${path}`), await answered(`GET /v1${path}`));
    }
    for (const base of ["/rooms/{code}/v1", "/v1/rooms/{code}"]) {
      seen.push(await answered(`GET ${base}/models`), await answered(`GET ${base}/models/{model}`));
      seen.push(await answered(`POST ${base}/chat/completions`, { messages: [] }));
      seen.push(await answered(`POST ${base}/chat/completions`, { model: "nobody" }));
      seen.push(await answered(`POST ${base}/messages`, { model: "nobody" }));
      seen.push(await answered(`GET ${base}/responses`));
    }
    seen.push(
      await answered("GET /rooms/{code}/route"),
      await answered("GET /v1/rooms/{code}/route"),
    );
    const alias = { pattern: "claude-*", targets: ["*"] };
    for (const path of ["/rooms/{code}/aliases", "/v1/rooms/{code}/aliases"]) {
      seen.push(await answered(`POST ${path}`, alias), await answered(`GET ${path}`));
      seen.push(await answered(`POST ${path}`, { ...alias, targets: ["claude-*"] }));
    }
    seen.push(await answered("DELETE /rooms/{code}/aliases"));
    seen.push(await answered("DELETE /rooms/{code}/leave/{id}"));
    seen.push(await answered("DELETE /v1/rooms/{code}/participants/{id}"));
    expect(seen.join("\n")).toMatchInlineSnapshot(`
      "201 POST /rooms
      400 POST /v1/rooms
      401 POST /rooms/{code}/join
      201 POST /rooms/{code}/join
      200 PUT /v1/rooms/{code}/participants/{id}
      200 POST /rooms/{code}/health
      200 POST /v1/rooms/{code}/participants/{id}/heartbeat
      200 GET /v1/rooms/{code}/participants/{id}
      426 GET /v1/rooms/{code}/participants/{id}/tunnel
      200 GET /health
      200 GET /v1/health
      200 GET /rooms
      200 GET /v1/rooms
      200 GET /rooms/{code}
      200 GET /v1/rooms/{code}
      200 GET /rooms/{code}/participants
      200 GET /v1/rooms/{code}/participants
      200 GET /rooms/{code}/v1/models
      200 GET /rooms/{code}/v1/models/{model}
      400 POST /rooms/{code}/v1/chat/completions
      404 POST /rooms/{code}/v1/chat/completions
      404 POST /rooms/{code}/v1/messages
      426 GET /rooms/{code}/v1/responses
      200 GET /v1/rooms/{code}/models
      200 GET /v1/rooms/{code}/models/{model}
      400 POST /v1/rooms/{code}/chat/completions
      404 POST /v1/rooms/{code}/chat/completions
      404 POST /v1/rooms/{code}/messages
      426 GET /v1/rooms/{code}/responses
      200 GET /rooms/{code}/route
      200 GET /v1/rooms/{code}/route
      201 POST /rooms/{code}/aliases
      200 GET /rooms/{code}/aliases
      400 POST /rooms/{code}/aliases
      200 POST /v1/rooms/{code}/aliases
      200 GET /v1/rooms/{code}/aliases
      400 POST /v1/rooms/{code}/aliases
      400 DELETE /rooms/{code}/aliases
      200 DELETE /rooms/{code}/leave/{id}
      404 DELETE /v1/rooms/{code}/participants/{id}"
    `);
  });

  test.each(["dot", "colon"] as const)("in events, %s", async (spelling) => {
    const schema = spelling === "dot" ? "DotEvent" : "ColonEvent";
    await using provider = await startFakeProvider();
    await using hub = await startTestHub();
    await using watch = await hub.watch(undefined, spelling);
    const code = await hub.createRoom();
    const { id } = await joinDirect(hub, code, { endpoint: provider.url });
    const ask = async (model: string) => {
      const path = `/rooms/${code}/v1/chat/completions`;
      await (await hub.fetch(path, { json: { model, messages: userSays("hello") } })).text();
    };
    await ask("*");
    await ask("nobody");
    await hub.client.leave(code, id);
    await watch.next("participant.left");
    await watch.next("llm.error");
    const kinds = new Set(watch.events.map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual(
      EVENT_NAMES.filter((name) => name !== "participant.offline").toSorted(),
    );
    const problems = watch.events.map(({ data }) => judge.problemsWith(schema, data));
    expect(problems.filter((problem) => problem !== "")).toEqual([]);
  });
});
