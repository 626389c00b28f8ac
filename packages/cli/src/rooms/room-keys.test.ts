import { describe, expect, test } from "vitest";
import type { CliContext } from "../context.ts";
import { answersOf, capture, makeWorld } from "../test-context.fixture.ts";
import { RoomKeys } from "./room-keys.ts";

const hubUrl = "http://10.0.0.9:5050";
const room = `${hubUrl}/v1/rooms/ABC234`;
const key = `rhk_${"k".repeat(43)}`;
const other = `rhk_${"o".repeat(43)}`;
const closed = { status: 401, headers: { "www-authenticate": 'Bearer realm="roomhub"' } };

interface HubOptions {
  valid?: string;
  secret?: string;
  context?: Partial<CliContext>;
}

/** A hub whose closed room lets one key in; `sent` are the keys that it got, by path. */
function makeHub({ valid = key, secret = key, context = {} }: HubOptions = {}) {
  const sent: [path: string, key: string | null][] = [];
  const questions: string[] = [];
  const world = makeWorld({
    stderr: capture(80),
    prompts: answersOf(questions, { secret }),
    fetch: async (url, init) => {
      const given = new Headers(init.headers).get("x-api-key");
      sent.push([url.replace(hubUrl, ""), given]);
      return url.includes("/rooms/") && given !== valid
        ? new Response("{}", closed)
        : new Response("ok");
    },
    ...context,
  });
  const keys = new RoomKeys(world.context);
  keys.addHub(hubUrl);
  return { world, keys, sent, questions };
}

const saved = { hubUrl, room: "ABC234", id: "key", token: key };

describe("a room's key", () => {
  test("is asked for where the hub refuses a request, kept, and used from then on", async () => {
    const { world, keys, sent, questions } = makeHub();
    await keys.prepare(undefined, true);
    const [one, two] = await Promise.all([keys.fetch(room, {}), keys.fetch(`${room}/models`, {})]);
    expect([one.status, two.status]).toEqual([200, 200]);
    expect((await keys.fetch(`${room}/events`, {})).status).toBe(200);
    expect(questions).toHaveLength(1);
    expect(sent.filter(([, given]) => given === null)).toHaveLength(2);
    expect(world.keys).toEqual([saved]);
    expect(world.stderr.text).not.toContain(key);
  });

  test("is asked for again when it is refused, and no other text is sent", async () => {
    const { world, keys, sent } = makeHub({ valid: other });
    await keys.prepare(undefined, true);
    world.keys.push({ ...saved, token: `rhk_${"z".repeat(43)}` });
    const texts = ["swordfish", other];
    world.context.prompts.askSecret = async () => texts.shift() ?? "";
    expect((await keys.fetch(room, {})).status).toBe(200);
    expect(sent.map(([, given]) => given)).toEqual([`rhk_${"z".repeat(43)}`, other]);
    expect(world.stderr.text).toContain("This is no key");
  });

  test.each(["--key-file", "ROOMHUB_KEY", "the saved one"])("comes from %s", async (source) => {
    const env = source === "ROOMHUB_KEY" ? { ROOMHUB_KEY: key } : {};
    const { world, keys, sent } = makeHub({ context: { env, readFile: async () => `${key}\n` } });
    if (source === "the saved one") world.keys.push(saved);
    await keys.prepare(source === "--key-file" ? "key.txt" : undefined, true);
    expect((await keys.fetch(room, {})).status).toBe(200);
    expect(sent).toEqual([["/v1/rooms/ABC234", key]]);
  });

  test("is not asked for where it was given, nor without a terminal", async () => {
    const given = makeHub({ context: { env: { ROOMHUB_KEY: other } } });
    await given.keys.prepare(undefined, true);
    const scripted = makeHub();
    await scripted.keys.prepare(undefined, false);
    for (const { keys, questions } of [given, scripted]) {
      expect((await keys.fetch(room, {})).status).toBe(401);
      expect(questions).toEqual([]);
    }
  });

  test("is sent to rooms of the hubs that the command uses alone, and not with a host token", async () => {
    const { keys, sent } = makeHub({ context: { env: { ROOMHUB_KEY: key } } });
    await keys.prepare(undefined, false);
    const urls = ["/v1/rooms", "/v1/health", "/rooms/ABC234/v1/models"].map(
      (path) => hubUrl + path,
    );
    for (const url of [...urls, "http://10.0.0.90:5050/rooms/ABC234", "http://127.0.0.1:11434/v1"])
      await keys.fetch(url, {});
    await keys.fetch(`${room}/keys`, { headers: { "x-host-token": "rhh_1" } });
    expect(sent.filter(([, given]) => given !== null)).toEqual([["/rooms/ABC234/v1/models", key]]);
  });

  test("does not take the place of the name that a request has", async () => {
    const names: (string | null)[] = [];
    const { keys } = makeHub({
      context: {
        env: { ROOMHUB_KEY: key },
        fetch: async (_url, init) => {
          names.push(new Headers(init.headers).get("authorization"));
          return new Response();
        },
      },
    });
    await keys.prepare(undefined, false);
    await keys.fetch(room, { headers: { authorization: "Bearer as-ada" } });
    expect(names).toEqual(["Bearer as-ada"]);
  });

  test("is sent although the time of the call passed while it was asked for", async () => {
    const { world, keys } = makeHub();
    await keys.prepare(undefined, true);
    const deadline = new AbortController();
    world.context.prompts.askSecret = async () => {
      await Promise.resolve();
      expect(keys.isAsking).toBe(true);
      deadline.abort();
      return key;
    };
    expect((await keys.fetch(room, { signal: deadline.signal })).status).toBe(200);
  });

  test("that cannot be kept works, with a warning that does not contain it", async () => {
    const full = Promise.reject(new Error("EROFS: read-only file system"));
    full.catch(() => {});
    const { world, keys } = makeHub({ context: { savedTokens: () => full } });
    await keys.prepare(undefined, true);
    expect((await keys.fetch(room, {})).status).toBe(200);
    expect(world.stderr.text).toContain("could not be saved: EROFS");
    expect(world.stderr.text).not.toContain(key);
  });
});

test("a cancelled question leaves the hub's refusal, and is not repeated", async () => {
  const { world, keys } = makeHub();
  await keys.prepare(undefined, true);
  let count = 0;
  world.context.prompts.askSecret = async () => {
    count++;
    throw new Error("cancelled");
  };
  expect((await keys.fetch(room, {})).status).toBe(401);
  expect((await keys.fetch(room, {})).status).toBe(401);
  expect(count).toBe(1);
});

test("the key in a link works, with a warning, and is in no message", async () => {
  const { world, keys, sent } = makeHub();
  expect(keys.takeFromLinks(["chat", `${hubUrl}/monitor/?room=ABC234#key=${key}`])).toEqual([
    "chat",
    `${hubUrl}/monitor/?room=ABC234`,
  ]);
  await keys.prepare(undefined, true);
  await keys.fetch(room, {});
  expect(sent).toEqual([["/v1/rooms/ABC234", key]]);
  expect(world.stderr.text).toContain("Leave out #key=…");
  expect(world.stderr.text).not.toContain(key);
});

test.each([
  [["models", "ABC234", "--key-file", "key.txt"], { readFile: async () => "rhk_short" }],
  [["models", "ABC234"], { env: { ROOMHUB_KEY: "rhk_short" } }],
])("%j without a key in it is a usage error that does not repeat it", async (args, context) => {
  const world = makeWorld(context);
  expect(await world.run(...args)).toBe(2);
  expect(world.stderr.text).toContain("a key is rhk_ and 43 characters");
  expect(world.stderr.text).not.toContain("rhk_short");
});
