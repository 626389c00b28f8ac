import { expect, test } from "vitest";
import {
  dropEmptyVariables,
  KNOWN_VARIABLES,
  limitsFromEnv,
  checkVariables,
  settingsFromEnv,
} from "./environment.ts";

test("every variable has a name of its own", () => {
  expect(new Set(KNOWN_VARIABLES).size).toBe(KNOWN_VARIABLES.length);
});

test.each([
  ["ROOMHUB_QUEUE_WAIT", "did you mean ROOMHUB_QUEUE_WAIT_MS?"],
  ["ROOMHUB_PASWORD", "did you mean ROOMHUB_PASSWORD?"],
  ["ROOMHUB_STATEFILE", "did you mean ROOMHUB_STATE_FILE?"],
  ["ROOMHUB_MAX_ROOMS_ALLOWED", "list all: roomhub config --limits"],
])("%s is refused: %s", (name, next) => {
  expect(() => checkVariables({ [name]: "1" }, [])).toThrow(
    `${name} is not a roomhub variable; ${next}`,
  );
});

test("every known variable passes, and what the command line names", () => {
  const env = Object.fromEntries(KNOWN_VARIABLES.map((name) => [name, "1"]));
  checkVariables({ ...env, ROOMHUB_MINE: "x", ROOMHUB_EMPTY: "" }, ["ROOMHUB_MINE"]);
});

test("variables that Kubernetes sets for a service of this name are ignored", () => {
  const env = {
    ROOMHUB_SERVICE_HOST: "10.0.0.1",
    ROOMHUB_SERVICE_PORT: "5050",
    ROOMHUB_SERVICE_PORT_HTTP: "5050",
    ROOMHUB_PORT: "tcp://10.0.0.1:5050",
    ROOMHUB_PORT_5050_TCP: "tcp://10.0.0.1:5050",
    ROOMHUB_PORT_5050_TCP_ADDR: "10.0.0.1",
    ROOMHUB_PROXY_PORT: "tcp://10.0.0.2:80",
  };
  checkVariables(env, []);
  expect(settingsFromEnv(env)).toEqual({});
});

test("settings are read as flags are, switches in four words each way", () => {
  expect(
    settingsFromEnv({
      ROOMHUB_PORT: "0",
      ROOMHUB_LAN: "Yes",
      ROOMHUB_DIRECT: "off",
      ROOMHUB_TRUST_PROXY: "10.0.0.0/8, ::1",
      ROOMHUB_HOST: "",
    }),
  ).toEqual({ port: 0, lan: true, direct: false, trustProxy: ["10.0.0.0/8", "::1"] });
});

test.each([
  ["ROOMHUB_PORT", "65536", "must be a number from 0 to 65535"],
  ["ROOMHUB_LAN", "maybe", "must be true or false"],
  ["ROOMHUB_OWNERSHIP", "mine", "must be one of compat, strict, open"],
])("%s=%s is a usage error: %s", (name, value, problem) => {
  expect(() => settingsFromEnv({ [name]: value })).toThrow(`${name} ${problem}, not "${value}"`);
});

test("ROOMHUB_HEAP_GROWTH must be on or off", () => {
  for (const value of ["on", "off"]) checkVariables({ ROOMHUB_HEAP_GROWTH: value }, []);
  expect(() => checkVariables({ ROOMHUB_HEAP_GROWTH: "maybe" }, [])).toThrow(
    'ROOMHUB_HEAP_GROWTH must be on or off, not "maybe"',
  );
});

test("limits are read with their units, and ROOMHUB_INFORMATIONAL=off is a limit of 0", () => {
  expect(limitsFromEnv({ ROOMHUB_QUEUE_WAIT_MS: "5s", ROOMHUB_ROOMS: "" })).toEqual({
    queueWaitMs: 5_000,
  });
  const informationalMs = { ROOMHUB_INFORMATIONAL_MS: "7" };
  expect(limitsFromEnv({ ...informationalMs, ROOMHUB_INFORMATIONAL: "off" })).toEqual({
    informationalMs: 0,
  });
  expect(limitsFromEnv({ ...informationalMs, ROOMHUB_INFORMATIONAL: "on" })).toEqual({
    informationalMs: 7,
  });
  expect(() => limitsFromEnv({ ROOMHUB_INFORMATIONAL: "never" })).toThrow("must be on or off");
  expect(() => limitsFromEnv({ ROOMHUB_ROOMS: "many" })).toThrow("ROOMHUB_ROOMS must be");
});

test("a variable that is set to nothing counts as not set", () => {
  const variables = { ROOMHUB_PORT: "", ROOMHUB_HOST: "::", OTHER: "" };
  dropEmptyVariables(variables);
  expect(variables).toEqual({ ROOMHUB_HOST: "::", OTHER: "" });
});
