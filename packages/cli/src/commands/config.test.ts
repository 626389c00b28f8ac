import { LIMIT_NAMES, limitEnvName } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { SETTING_NAMES, settingEnvName } from "../hosting/hub-settings.ts";
import { makeWorld } from "../test-context.fixture.ts";

/** Three sources that each set the same settings. */
function makeLayers() {
  const asked: string[] = [];
  const world = makeWorld({
    env: { ROOMHUB_PORT: "6060", ROOMHUB_QUEUE_WAIT_MS: "20s", ROOMHUB_LAN: "1" },
    readFile: async (path) => {
      asked.push(path);
      return JSON.stringify({
        port: 5151,
        ownership: "strict",
        direct: false,
        limits: { queueWaitMs: 1, rooms: 2, drainMs: 3 },
      });
    },
  });
  return { world, asked };
}

test("file < environment < flags, and --json has the source of each value", async () => {
  const { world } = makeLayers();
  const flags = ["--no-lan", "--direct", "--limit", "rooms=7", "--limit", "rooms=8"];
  expect(await world.run("config", "--json", ...flags)).toBe(0);
  const told = JSON.parse(world.stdout.text);
  expect(told).toMatchObject({
    file: "roomhub.config.json",
    settings: {
      port: { value: 6060, from: "env", env: "ROOMHUB_PORT" },
      ownership: { value: "strict", from: "file" },
      lan: { value: false, from: "flag" },
      direct: { value: true, from: "flag" },
      host: { value: null, from: "default" },
      stateFile: { value: "/state/rooms-6060.json", from: "default" },
    },
    limits: {
      queueWaitMs: { value: 20_000, from: "env", default: 60_000, unit: "ms" },
      rooms: { value: 8, from: "flag", env: "ROOMHUB_ROOMS" },
      drainMs: { value: 3, from: "file" },
      urlBytes: { value: 8_192, from: "default", what: "request URL" },
    },
  });
  expect(Object.keys(told.settings)).toEqual(SETTING_NAMES);
  expect(Object.keys(told.limits)).toEqual(LIMIT_NAMES);
});

test("people get aligned tables: settings and what was changed, with --limits every limit", async () => {
  const { world } = makeLayers();
  await world.run("config");
  const [settings = "", limits = ""] = world.stdout.text.split("\n\n");
  expect(settings).toMatch(/^SETTING +FROM +FLAG +ENVIRONMENT +VALUE\n/);
  expect(settings).toMatch(/^port +env +--port +ROOMHUB_PORT +6060$/m);
  expect(settings).toMatch(/^host +default +--host +ROOMHUB_HOST +this machine only$/m);
  expect(limits.trimEnd().split("\n")).toHaveLength(1 + 3);
  expect(limits).toMatch(
    /^queueWaitMs +20s +env +ms +ROOMHUB_QUEUE_WAIT_MS +waiting time in the queue$/m,
  );
  expect(world.stderr.text).toContain("Config file: roomhub.config.json; 3 of ");

  const all = makeWorld();
  await all.run("config", "--limits");
  for (const name of SETTING_NAMES) expect(all.stdout.text).toContain(settingEnvName(name));
  for (const name of LIMIT_NAMES) expect(all.stdout.text).toContain(` ${limitEnvName(name)} `);
  expect(all.stderr.text).toContain("No config file; 0 of ");
});

test.each([
  [["--config", "flag.json"], "flag.json"],
  [[], "env.json"],
])("%j decides which file is read: %s", async (args, path) => {
  const { world, asked } = makeLayers();
  world.context.env = { ROOMHUB_CONFIG: "env.json" };
  await world.run("config", ...args);
  expect(asked).toEqual([path]);
});

test("rooms that are forgotten have no state file", async () => {
  const world = makeWorld();
  await world.run("config", "--port", "0");
  expect(world.stdout.text).toMatch(/^stateFile .* none: rooms are not kept$/m);
});

test.each([["config"], ["serve"], ["up"]])("%s rejects invalid settings", async (command) => {
  const world = makeWorld({ readFile: async () => '{"prot":1}' });
  expect(await world.run(command)).toBe(2);
  expect(world.stderr.text).toBe(
    'error: roomhub.config.json: unknown setting "prot"; did you mean port?\n',
  );
  expect(world.hubs).toEqual([]);
});
