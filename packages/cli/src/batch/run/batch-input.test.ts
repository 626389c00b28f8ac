import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkInput, type CheckOptions, maxLineBytes } from "./batch-input.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "roomhub-batch-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const line = (id: unknown, over: object = {}) =>
  JSON.stringify({
    custom_id: id,
    method: "POST",
    url: "/v1/chat/completions",
    body: { model: "llama3" },
    ...over,
  });

async function check(text: string | Buffer, options: CheckOptions = {}) {
  const path = join(folder, "evals.jsonl");
  writeFileSync(path, text);
  const checked = await checkInput(path, options);
  const { input, problems, problemCount } = checked;
  await using closing = { [Symbol.asyncDispose]: async () => input?.close() };
  void closing;
  const requests =
    input === undefined ? [] : await Promise.all(numbersOf(input.count).map((n) => input.read(n)));
  return {
    problems: problems.map((one) => `line ${one.line} ${one.problem}`),
    problemCount,
    requests,
    url: input?.url,
    models: input?.models,
    modelNumbers: numbersOf(requests.length).map((n) => input?.modelOf(n)),
    numberOf: requests.map(({ customId }) => input?.numberOf(customId)),
    unknown: input?.numberOf("no such id"),
  };
}

const numbersOf = (count: number) => Array.from({ length: count }, (_, number) => number);

test("requests are numbered in the order of the file, with their bodies as they were written", async () => {
  const precise = line("b").replace(
    '{"model":"llama3"}',
    '{ "model": "qwen", "seed": 12345678901234567890, "temperature": 1.0, "q": "a}\\"\\n" }',
  );
  const checked = await check(`${line("a")}\n\n${precise}\r\n${line("c")}`);
  expect(checked.problems).toEqual([]);
  expect(checked.requests).toEqual([
    { customId: "a", body: '{"model":"llama3"}' },
    {
      customId: "b",
      body: '{ "model": "qwen", "seed": 12345678901234567890, "temperature": 1.0, "q": "a}\\"\\n" }',
    },
    { customId: "c", body: '{"model":"llama3"}' },
  ]);
  expect(checked.url).toBe("/v1/chat/completions");
  expect(checked.models).toEqual(["llama3", "qwen"]);
  expect(checked.modelNumbers).toEqual([0, 1, 0]);
  expect(checked.numberOf).toEqual([0, 1, 2]);
  expect(checked.unknown).toBeUndefined();
});

test("the last of several bodies counts, as in JSON.parse, also under an escaped name", async () => {
  const twice = line("a").replace(/\}$/, String.raw`,"b\u006fdy":{"model":"qwen"}}`);
  expect((await check(twice)).requests).toEqual([{ customId: "a", body: '{"model":"qwen"}' }]);
});

test.each([
  ["{", "is not JSON"],
  ["[]", "is not a JSON object"],
  [line(undefined), "has no custom_id"],
  [line(""), "has no custom_id"],
  [line(7), "has no custom_id"],
  [line("b", { method: "GET" }), 'has a method other than "POST"'],
  [line("b", { url: undefined }), "has no url"],
  [line("b", { url: "/v1/files" }), 'has a url that rooms do not have: "/v1/files"'],
  [
    line("b", { url: "/v1/embeddings" }),
    "has another url than the first one, /v1/chat/completions",
  ],
  [line("b", { body: "hi" }), "has no body that is an object"],
  [line("b", { body: { stream: true } }), 'has "stream": true, and results are not streamed'],
  [line("a"), 'has the custom_id of an earlier line: "a"'],
])("%s after a good line is a problem of line 2", async (bad, problem) => {
  const checked = await check(`${line("a")}\n${bad}\n${line("c")}\n`);
  expect(checked.problems).toEqual([`line 2 ${problem}`]);
  expect(checked.requests).toEqual([]);
});

test("the first ten problems are kept, and all are counted", async () => {
  const { problems, problemCount } = await check("x\n".repeat(25));
  expect(problems).toHaveLength(10);
  expect(problemCount).toBe(25);
});

test("a file without requests is a problem", async () => {
  for (const text of ["", "\n \n"]) {
    expect((await check(text)).problems).toEqual(["line 1 is missing: the file has no requests"]);
  }
});

test("a line of bytes that are not UTF-8 is a problem, and a byte order mark before the first line is not", async () => {
  const bad = Buffer.concat([Buffer.from(line("a")), Buffer.from([0x0a, 0x22, 0xff, 0x22])]);
  expect((await check(bad)).problems).toEqual(["line 2 is not UTF-8"]);
  const marked = await check(`\u{feff}${line("a")}\n${line("b")}`);
  expect(marked.requests.map(({ customId }) => customId)).toEqual(["a", "b"]);
});

test("a line at the limit is read, one byte more is a problem, and the lines after it are read", async () => {
  const filled = (bytes: number) => {
    const empty = line("long", { fill: "" });
    return line("long", { fill: "x".repeat(bytes - empty.length) });
  };
  expect((await check(`${filled(maxLineBytes)}\n${line("b")}`)).requests).toHaveLength(2);
  const { problems } = await check(`${filled(maxLineBytes + 1)}\n${line("b")}\n${line("b")}`);
  expect(problems).toEqual([
    "line 1 is longer than 16 MiB",
    'line 3 has the custom_id of an earlier line: "b"',
  ]);
});

test("different ids with the same hash are not duplicates, and equal ones are still found", async () => {
  const hashOf = () => ({ high: 1, low: 2 });
  const lines = ["a", "b", "c"].map((id) => line(id)).join("\n");
  expect((await check(lines, { hashOf })).numberOf).toEqual([0, 1, 2]);
  const { problems } = await check(`${lines}\n{\n${line("b")}`, { hashOf });
  expect(problems).toEqual([
    "line 4 is not JSON",
    'line 5 has the custom_id of an earlier line: "b"',
  ]);
});

test("requests for more than 255 models have the last number in common", async () => {
  const lines = numbersOf(300).map((number) =>
    line(`r${number}`, { body: { model: `m${number}` } }),
  );
  const { models, modelNumbers } = await check(lines.join("\n"));
  expect(models).toHaveLength(256);
  expect(models?.at(-1)).toBeUndefined();
  expect(modelNumbers.slice(253)).toEqual([253, 254, ...Array.from({ length: 45 }, () => 255)]);
});
