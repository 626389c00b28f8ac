import type { InferenceProtocol, ParticipantConfig } from "@roomhub/protocol";
import { array, assert, integer, jsonValue, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { HubError } from "../errors.ts";
import { cutBy, everyCut } from "./cuts.fixture.ts";
import { bodyForProvider, RequestBodyReader, type RequestBody } from "./request-head.ts";

function readChunks(chunks: readonly Buffer[]): RequestBody {
  const reader = new RequestBodyReader(64);
  for (const chunk of chunks) reader.push(chunk);
  return reader.end();
}

const read = (text: string): RequestBody => readChunks([Buffer.from(text)]);

function sent(
  text: string,
  config: ParticipantConfig = {},
  protocol: InferenceProtocol = "chatCompletions",
): string {
  return Buffer.concat(bodyForProvider(read(text), protocol, "served", config)).toString("utf8");
}

function refusalOf(action: () => unknown): { code: string; param: string } {
  try {
    action();
  } catch (error) {
    if (error instanceof HubError) return { code: error.code, param: error.param };
    throw error;
  }
  throw new Error("it was not refused");
}

/** As clients send it: thirty fields the hub never heard of, in odd spelling and odd order. */
const odd = `{ "zeta" : 1.0, "big":12345678901234567890123, "messages":[{"role":"user","content":"Gr\u00fc\u00dfe \\ud83d\\ude00 \u2028 \\u0000 {\\"model\\":\\"no\\"}"}],
\t"nested":{"model":"inner","list":[1e+05,-0.0,[[]],{"model":null}]},"model"\t:  "asked"  ,"dup":1,"dup":2,${Array.from({ length: 26 }, (_, index) => `"unknown_${index}":{"k":[${index},"\u00e9"]}`).join(", ")},"stream" :true , "alpha":null }\n`;

describe("what is read", () => {
  test.each([
    ['{"model":"a"}', "a"],
    ['{"model":"a","model":"b"}', "b"],
    ['{"model":"a","mod\\u0065l":"b"}', "b"],
    ['{"x":{"model":"no"},"model":"\\u0061\\"\\\\"}', 'a"\\'],
    ['{"model":"Gr\u00fc\u00dfe \u{1f600}"}', "Gr\u00fc\u00dfe \u{1f600}"],
    [' \n{"model":"a"}\t', "a"],
  ])("%s asks for %s", (text, model) => {
    expect(read(text).model).toBe(model);
    expect(read(text).model).toBe((JSON.parse(text) as { model: string }).model);
  });

  test.each([
    ["true", true],
    ["false", false],
    ["null", false],
    ["1", false],
    ['"true"', false],
    ["[true]", false],
    ['{"stream":true}', false],
  ])("stream is asked for by true alone: %s", (value, isStream) => {
    expect(read(`{"model":"a","stream":${value}}`).isStream).toBe(isStream);
  });

  test("the last of two streams decides, and no stream is none", () => {
    expect(read('{"model":"a","stream":false,"stream":true}').isStream).toBe(true);
    expect(read('{"model":"a","stream":true,"stream":false}').isStream).toBe(false);
    expect(read('{"model":"a","x":{"stream":true}}').isStream).toBe(false);
  });
});

describe("what is refused", () => {
  test.each([
    ["", "invalid_json", ""],
    ["   ", "invalid_json", ""],
    ["{bad", "invalid_json", ""],
    ['{"model":"a"', "invalid_json", ""],
    ['{"model":"a"}}', "invalid_json", ""],
    ["null", "invalid_type", ""],
    ['"x"', "invalid_type", ""],
    ["[]", "invalid_type", ""],
    ['[{"model":"a"}]', "invalid_type", ""],
    ["{}", "missing_required_parameter", "model"],
    ['{"x":{"model":"a"}}', "missing_required_parameter", "model"],
    ['{"model":1}', "invalid_type", "model"],
    ['{"model":null}', "invalid_type", "model"],
    ['{"model":["a"]}', "invalid_type", "model"],
    ['{"model":{"a":1}}', "invalid_type", "model"],
    ['{"model":""}', "invalid_type", "model"],
    ['{"model":"a","model":1}', "invalid_type", "model"],
    [`{"model":"${"x".repeat(5_000)}"}`, "field_too_large", "model"],
    [`{${'"model":"a",'.repeat(300)}"x":1}`, "field_too_large", ""],
  ])("%s", (text, code, param) => {
    expect(refusalOf(() => read(text))).toEqual({ code, param });
  });

  test("a body nested a hundred thousand deep, while it is still arriving", () => {
    const reader = new RequestBodyReader(64);
    const deep = Buffer.from(`{"model":"a","x":${"[".repeat(100_000)}`);
    expect(refusalOf(() => reader.push(deep)).code).toBe("field_too_large");
  });

  test("an empty body is told that it is empty, a broken one where", () => {
    expect(() => read("")).toThrow("The request body is empty");
    expect(() => read('{"model":nope}')).toThrow("not valid JSON (at byte 10)");
  });
});

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
    const body = bodyForProvider(readChunks(chunks), "chatCompletions", "served", {});
    expect(body).toHaveLength(chunks.length);
    expect(body.every((chunk, index) => chunk === chunks[index])).toBe(true);
  });

  test("spells a name with quotes and controls as JSON", () => {
    const body = bodyForProvider(read('{"model":"a"}'), "chatCompletions", 'q"\n\u{1f600}', {});
    expect(JSON.parse(Buffer.concat(body).toString())).toEqual({ model: 'q"\n\u{1f600}' });
  });

  test("is the same from every cut", () => {
    const text = '{"x":"\u00e9","model":"asked","y":[1],"model":7,"temperature":1,"model":"z"}';
    const config = { seed: 1, top_p: 0.5 };
    const expected = sent(text, config);
    for (const chunks of everyCut(Buffer.from(text))) {
      const body = bodyForProvider(readChunks(chunks), "chatCompletions", "served", config);
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
        const body = bodyForProvider(readChunks(chunks), "openResponses", "served", {});
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
  const responses = {
    temperature: 0.1,
    top_p: 0.2,
    max_output_tokens: 3,
    instructions: "be brief",
  };

  test.each([
    ["chatCompletions", chat],
    ["completions", chat],
    ["openResponses", responses],
    ["embeddings", {}],
  ] as const)("go to %s where the protocol has the field", (protocol, added) => {
    const body = sent('{"model":"a","input":1}', everything, protocol);
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
      for (const protocol of ["chatCompletions", "openResponses", "completions"] as const) {
        expect(sent(text, { max_tokens: 3 }, protocol)).toBe(text);
      }
    },
  );

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
