import { expect, test } from "vitest";
import { readConfigFile } from "./config-file.ts";
import { makeWorld } from "../test-context.fixture.ts";

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
