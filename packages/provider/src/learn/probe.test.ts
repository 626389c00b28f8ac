import { systemWorld } from "@roomhub/protocol";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { httpResponse, startRawProvider } from "../fake-provider.fixture.ts";
import { probeModels } from "./probe.ts";
import { ProviderClient } from "../call/provider-client.ts";

function probe(
  client: ProviderClient,
  baseUrl: string,
  headers: Record<string, string>,
  ms: number,
) {
  const call = client.call.bind(client);
  return probeModels({ call, baseUrl, headers: () => headers, world: systemWorld }, ms);
}

const recorded = (name: string) =>
  readFileSync(
    new URL(`../../../../tests/fixtures/llama.cpp/${name}.http`, import.meta.url),
    "latin1",
  );
const thousands = Array.from({ length: 2_000 }, (_, index) => ({ id: `m${index}` }));

const table: Record<string, [reply: string, expected: object]> = {
  "a models list": [
    httpResponse('{"object":"list","data":[{"id":"a"},{"id":7},null,{"id":"b"}]}'),
    { answered: true, status: 200, models: ["a", "b"] },
  ],
  "llama.cpp's list, with the other names of its model": [
    recorded("models"),
    {
      ...{ answered: true, status: 200, models: ["tiny"], aliases: ["tiny"] },
      program: "llama.cpp",
    },
  ],
  "llama.cpp that requires a key": [
    recorded("key-models-without"),
    { answered: true, status: 401, problem: expect.stringContaining("Invalid API Key") },
  ],
  "llama.cpp that loads its model": [
    httpResponse(
      '{"error":{"message":"Loading model","type":"unavailable_error","code":503}}',
      "",
      "503 No",
    ),
    { answered: true, status: 503, problem: expect.stringContaining("Loading model") },
  ],
  "a list of thousands": [
    httpResponse(JSON.stringify({ data: thousands })),
    { answered: true, models: thousands.map(({ id }) => id) },
  ],
  "aliases that are none": [
    httpResponse(
      '{"data":[{"id":"a","aliases":[1,"b"]},{"id":"c","aliases":{}},{"id":"d","aliases":"e"}]}',
    ),
    { models: ["a", "c", "d"], aliases: ["b", "e"] },
  ],
  "a 200 that carries an error": [
    httpResponse('{"error":"Unexpected endpoint"}'),
    { answered: true, status: 200, problem: expect.stringContaining("Unexpected endpoint") },
  ],
  "an error with a message": [
    httpResponse('{"error":{"message":"bad key"}}', "", "401 No"),
    { answered: true, status: 401, problem: expect.stringContaining("bad key") },
  ],
  "a page": [httpResponse("<html>", "", "404 No"), { answered: true, status: 404 }],
  "whisper.cpp, which lists no models": [
    httpResponse("File Not Found (/v1/models)", "server: whisper.cpp\r\n", "404 Not Found"),
    { answered: true, status: 404, program: "whisper.cpp" },
  ],
  "something else": [
    httpResponse("[]"),
    { answered: true, problem: expect.stringContaining("list") },
  ],
  "more than 1 MiB": [
    httpResponse("x".repeat(1024 * 1024 + 1)),
    { answered: true, problem: expect.stringContaining("1 MiB") },
  ],
  garbage: ["garbage\r\n", { answered: false, problem: expect.stringContaining("invalid HTTP") }],
  silence: [
    "",
    {
      ...{ answered: false, isTimeout: true, isAccepted: true },
      problem: expect.stringContaining("within 0.05 s"),
    },
  ],
};
for (const [what, [bytes, expected]] of Object.entries(table)) {
  test(`a probe reports ${what}`, async () => {
    await using provider = await startRawProvider((socket) => socket.write(bytes));
    await using client = new ProviderClient({ connectTimeoutMs: 1_000 });
    const timeoutMs = what === "silence" ? 50 : 2_000;
    const found = await probe(client, provider.baseUrl, { authorization: "Bearer k" }, timeoutMs);
    expect(found).toMatchObject(expected);
    expect(provider.received[0]).toMatch(/^GET \/v1\/models HTTP[^]*authorization: Bearer k\r\n/);
  });
}

test("a probe that waits in vain for a connection reports that none was accepted", async () => {
  const server = { call: () => waitingCall(false), baseUrl: "http://192.0.2.1/v1" };
  const found = await probeModels({ ...server, headers: () => ({}), world: systemWorld }, 10);
  expect(found).toMatchObject({ answered: false, isTimeout: true, isAccepted: false });
});

function waitingCall(isAccepted: boolean) {
  return { resume() {}, cancel() {}, writeBody: () => true, endBody() {}, isAccepted };
}

test("a probe without a server says why", async () => {
  await using client = new ProviderClient({ connectTimeoutMs: 1_000 });
  expect(await probe(client, "http://127.0.0.1:1/v1", {}, 1_000)).toEqual({
    answered: false,
    problem: expect.stringContaining("127.0.0.1:1 refused the connection"),
  });
});
