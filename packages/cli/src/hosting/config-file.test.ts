import { expect, test } from "vitest";
import { LIMIT_NAMES, limitProblem } from "@roomhub/protocol";
import { configFileSchema, readConfigFile } from "./config-file.ts";
import { SETTING_NAMES } from "./hub-settings.ts";
import { makeWorld } from "../test-context.fixture.ts";

interface JsonSchema {
  properties: Record<string, JsonSchema>;
  additionalProperties?: boolean;
  type?: string;
  description?: string;
  minimum?: number;
  maximum?: number;
}

function reading(text: string, path?: string) {
  return readConfigFile(makeWorld({ readFile: async () => text }).context, path);
}

test("every setting and limit can be in the file", async () => {
  const settings = {
    host: "::",
    port: 0,
    lan: false,
    stateFile: "rooms.json",
    ephemeral: true,
    direct: false,
    publicUrl: "https://hub.example.org",
    trustProxy: ["10.0.0.0/8"],
    ownership: "strict",
    logFormat: "json",
  };
  const limits = { rooms: 3, earlyCommitMs: 0 };
  expect(await reading(`\uFEFF${JSON.stringify({ ...settings, limits })}`)).toEqual({
    path: "roomhub.config.json",
    settings,
    limits,
  });
});

test("the schema for editors has every setting and limit, with its meaning and default", () => {
  const { properties, additionalProperties } = configFileSchema() as JsonSchema;
  expect(additionalProperties).toBe(false);
  expect(Object.keys(properties)).toEqual(["$schema", ...SETTING_NAMES, "limits"]);
  expect(properties["ownership"]).toMatchObject({ enum: ["compat", "strict", "open"] });
  expect(properties["port"]).toMatchObject({ type: "integer", maximum: 65_535, default: 5_050 });
  expect(properties["mdns"]?.description).toMatch(/^false: .*do not announce/);
  expect(Object.keys(properties["limits"]?.properties ?? {})).toEqual([...LIMIT_NAMES]);
});

test("the schema for editors allows the limits that the hub allows", () => {
  const { limits } = (configFileSchema() as JsonSchema).properties;
  for (const name of LIMIT_NAMES) {
    const { minimum = 0, maximum = 0, type } = limits?.properties[name] ?? {};
    expect(type).toBe("integer");
    expect([minimum, maximum].map((value) => limitProblem(name, value))).toEqual([
      undefined,
      undefined,
    ]);
    expect(limitProblem(name, minimum - 1)).toBeDefined();
    if (maximum < Number.MAX_SAFE_INTEGER) expect(limitProblem(name, maximum + 1)).toBeDefined();
  }
});

test("a file may name its schema", async () => {
  const file = await reading('{"$schema":"./roomhub.schema.json","port":1}');
  expect(file?.settings).toEqual({ port: 1 });
});

test("no file is no config, unless it was named", async () => {
  const { context } = makeWorld();
  expect(await readConfigFile(context, undefined)).toBeUndefined();
  await expect(readConfigFile(context, "x.json")).rejects.toThrow(
    "The config file x.json cannot be read: ENOENT",
  );
  const readFile = () => Promise.reject(Object.assign(new Error("EACCES"), { code: "EACCES" }));
  const denied = makeWorld({ readFile }).context;
  await expect(readConfigFile(denied, undefined)).rejects.toThrow("roomhub.config.json cannot be");
});

test.each([
  ["{", "is not valid JSON"],
  ["[]", "must be a JSON object"],
  ['{"prot":1}', 'unknown setting "prot"; did you mean port?'],
  ['{"state-file":"x"}', 'unknown setting "state-file"; did you mean stateFile?'],
  ['{"limit":{}}', "did you mean limits?"],
  ['{"queueWaitMs":5}', 'unknown setting "queueWaitMs"; did you mean limits.queueWaitMs?'],
  ['{"frobnicate":1}', "list all: roomhub config --limits"],
  ['{"__proto__":1}', 'unknown setting "__proto__"'],
  ['{"port":"5050"}', 'port must be a number from 0 to 65535, not "5050"'],
  ['{"lan":1}', "lan must be true or false, not 1"],
  ['{"host":null}', "host must be a non-empty string, not null"],
  ['{"trustProxy":"10.0.0.0/8"}', "trustProxy must be a list of strings"],
  ['{"ownership":"mine"}', "ownership must be one of compat, strict, open"],
  ['{"limits":[]}', "limits must be an object"],
  ['{"limits":null}', "limits must be an object"],
  ['{"limits":{"room":5}}', 'unknown setting "limits.room"; did you mean limits.rooms?'],
  ['{"limits":{"rooms":-1}}', "limits.rooms must be a whole number of at least 0, not -1"],
  ['{"limits":{"queueWaitMs":"30s"}}', "limits.queueWaitMs must be a whole number of ms of"],
])("%s is refused: %s", async (text, problem) => {
  await expect(reading(text, "hub.json")).rejects.toThrow(problem);
  await expect(reading(text, "hub.json")).rejects.toThrow(/^hub\.json/);
});
