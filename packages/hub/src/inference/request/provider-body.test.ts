import { crc32 } from "node:zlib";
import { SURFACES, type ParticipantConfig, type Surface } from "@roomhub/protocol";
import { array, assert, integer, jsonValue, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { cutBy, everyCut } from "../stream/cuts.fixture.ts";
import { bodyForProvider } from "./provider-body.ts";
import type { RequestBody } from "./request-body.ts";
import { RequestBodyReader } from "./request-head.ts";

const plain = { model: "served", config: {}, requestsUsage: false };

function readChunks(chunks: readonly Buffer[]): RequestBody {
  const reader = new RequestBodyReader(64, true, crc32);
  for (const chunk of chunks) reader.push(chunk);
  return reader.end();
}

const read = (text: string): RequestBody => readChunks([Buffer.from(text)]);

function surfaceAt(path: string): Surface {
  const surface = SURFACES.find((one) => one.path === path);
  if (surface === undefined) throw new Error(`no surface at ${path}`);
  return surface;
}

function sent(text: string, config: ParticipantConfig = {}, path = "chat/completions"): string {
  const body = bodyForProvider(read(text), surfaceAt(path), { ...plain, config });
  return Buffer.concat(body).toString("utf8");
}

/** As clients send it: thirty fields the hub never heard of, in odd spelling and odd order. */
const odd = `{ "zeta" : 1.0, "big":12345678901234567890123, "messages":[{"role":"user","content":"Gr\u00fc\u00dfe \\ud83d\\ude00 \u2028 \\u0000 {\\"model\\":\\"no\\"}"}],
\t"nested":{"model":"inner","list":[1e+05,-0.0,[[]],{"model":null}]},"model"\t:  "asked"  ,"dup":1,"dup":2,${Array.from({ length: 26 }, (_, index) => `"unknown_${index}":{"k":[${index},"\u00e9"]}`).join(", ")},"stream" :true , "alpha":null }\n`;

describe("the provider's body", () => {
  test("has the provider's model name and every other byte as it came", () => {
    expect(sent(odd)).toBe(odd.replace('"asked"', '"served"'));
    expect(JSON.parse(sent(odd))).toMatchObject({ model: "served", nested: { model: "inner" } });
  });

  test("has the name in every place where the outermost object has a model", () => {
    expect(sent('{"model":"a","x":1,"mod\\u0065l" : {"b":[1]} ,"model":"c"}')).toBe(
      '{"model":"served","x":1,"mod\\u0065l" : "served" ,"model":"served"}',
    );
  });

  test("is the client's own buffers when nothing is to change", () => {
    const chunks = cutBy(Buffer.from('{"model":"served","x":1}'), [5]);
    const body = bodyForProvider(readChunks(chunks), surfaceAt("chat/completions"), plain);
    expect(body).toHaveLength(chunks.length);
    expect(body.every((chunk, index) => chunk === chunks[index])).toBe(true);
  });

  test("spells a name with quotes and controls as JSON", () => {
    const body = bodyForProvider(read('{"model":"a"}'), surfaceAt("chat/completions"), {
      ...plain,
      model: 'q"\n\u{1f600}',
    });
    expect(JSON.parse(Buffer.concat(body).toString())).toEqual({ model: 'q"\n\u{1f600}' });
  });

  test("is the same from every cut", () => {
    const text = '{"x":"\u00e9","model":"asked","y":[1],"model":7,"temperature":1,"model":"z"}';
    const config = { seed: 1, top_p: 0.5 };
    const expected = sent(text, config);
    for (const chunks of everyCut(Buffer.from(text))) {
      const body = bodyForProvider(readChunks(chunks), surfaceAt("chat/completions"), {
        ...plain,
        config,
      });
      expect(Buffer.concat(body).toString()).toBe(expected);
    }
  });

  test("whatever the other fields and the cuts, only model values differ", () => {
    const lengths = array(integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
    assert(
      property(jsonValue(), jsonValue(), lengths, (before, after, cuts) => {
        const [left, right] = [JSON.stringify(before), JSON.stringify(after)];
        const text = (model: string) =>
          `{"x" :${left}, "model":${model} ,"y":${right},"model" : ${model}}`;
        const chunks = cutBy(Buffer.from(text('"asked"')), cuts);
        const body = bodyForProvider(readChunks(chunks), surfaceAt("responses"), plain);
        expect(Buffer.concat(body).toString()).toBe(text('"served"'));
      }),
      { numRuns: 200 },
    );
  });
});

describe("a participant's defaults", () => {
  const everything: ParticipantConfig = {
    temperature: 0.1,
    top_p: 0.2,
    max_tokens: 3,
    stop: ["x"],
    frequency_penalty: 0.4,
    presence_penalty: 0.5,
    seed: 6,
    instructions: "be brief",
    maxConcurrency: 7,
    further: true,
  };
  const chat = {
    temperature: 0.1,
    top_p: 0.2,
    max_tokens: 3,
    stop: ["x"],
    frequency_penalty: 0.4,
    presence_penalty: 0.5,
    seed: 6,
  };
  const messages = {
    temperature: 0.1,
    top_p: 0.2,
    max_tokens: 3,
    stop_sequences: ["x"],
    system: "be brief",
  };
  const responses = {
    temperature: 0.1,
    top_p: 0.2,
    max_output_tokens: 3,
    instructions: "be brief",
  };

  test.each([
    ["chat/completions", chat],
    ["completions", chat],
    ["responses", responses],
    ["messages", messages],
    ["embeddings", {}],
    ["messages/count_tokens", {}],
    ["responses/input_tokens", {}],
    ["responses/compact", {}],
  ])("go to %s where it generates and has the field", (path, added) => {
    const body = sent('{"model":"a","input":1}', everything, path);
    expect(JSON.parse(body)).toEqual({ ...added, model: "served", input: 1 });
  });

  test.each(["temperature", "top_p", "stop", "frequency_penalty", "presence_penalty", "seed"])(
    "never touch a %s the request has, be it null",
    (field) => {
      for (const value of ["null", "0", '"own"']) {
        const text = `{"model":"served","${field}":${value}}`;
        const added = Object.entries(chat).find(([name]) => name === field);
        expect(sent(text, { [field]: added?.[1] })).toBe(text);
      }
    },
  );

  test.each(["max_tokens", "max_completion_tokens", "max_output_tokens"])(
    "do not say under another name what %s already says",
    (field) => {
      const text = `{"model":"served","${field}":9}`;
      for (const path of ["chat/completions", "responses", "completions", "messages"]) {
        expect(sent(text, { max_tokens: 3 }, path)).toBe(text);
      }
    },
  );

  test("that are one text become a list where the field is a list", () => {
    expect(sent('{"model":"served"}', { stop: "x" }, "messages")).toBe(
      '{"stop_sequences":["x"],"model":"served"}',
    );
  });

  test("are not kept away by a field of that name further inside", () => {
    expect(sent('{"model":"served","x":{"seed":1}}', { seed: 6 })).toBe(
      '{"seed":6,"model":"served","x":{"seed":1}}',
    );
  });

  test("stand in front, inside the braces, and leave the rest alone", () => {
    expect(sent(' { "model":"served"}', { seed: 6, temperature: 0 })).toBe(
      ' {"temperature":0,"seed":6, "model":"served"}',
    );
  });

  test("that are not there are not sent", () => {
    const cleared = { temperature: undefined, seed: null } as unknown as ParticipantConfig;
    expect(sent('{"model":"served"}', cleared)).toBe('{"model":"served"}');
  });
});

describe("the question for usage", () => {
  test("stands in front, behind the defaults, and nothing else changes", () => {
    const options = { ...plain, config: { seed: 6 }, requestsUsage: true };
    const body = bodyForProvider(read(odd), surfaceAt("chat/completions"), options);
    const asked = '{"seed":6,"stream_options":{"include_usage":true},';
    expect(Buffer.concat(body).toString()).toBe(
      odd.replace('"asked"', '"served"').replace("{", asked),
    );
  });
});
