import { describe, expect, test, vi } from "vitest";
import { makeWorld, type TestWorld } from "../test-context.fixture.ts";

/** Runs `serve` until it has printed its banner, or has failed. */
async function serve(world: TestWorld, ...args: string[]): Promise<number> {
  const running = world.run("serve", ...args);
  await vi.waitFor(() => {
    if (!/ready at|error:/.test(world.stderr.text)) throw new Error("not yet");
  });
  world.stop();
  return running;
}

const secret = "0123456789abcdef0123456789abcdef";

function worldWith(text = secret, isReadableByOthers = false): TestWorld {
  return makeWorld({
    readSecretFile: async () => ({ bytes: Buffer.from(text), isReadableByOthers }),
  });
}

const flags = ["--nats", "nats://n1:4222,n2", "--cluster-secret-file", "/run/secret"];

describe("a hub with --nats", () => {
  test("is in a cluster, and keeps no rooms in a file", async () => {
    const world = worldWith();
    world.context.openRoomStore = async () => {
      throw new Error("the state file is not used");
    };
    expect(await serve(world, ...flags, "--port", "5151")).toBe(0);
    expect(world.directories).toEqual([
      expect.objectContaining({ servers: ["nats://n1:4222", "n2"], storage: "file" }),
    ]);
    expect(world.hubs[0]?.cluster).toMatchObject({
      secret: Buffer.from(secret),
      advertiseUrl: "http://127.0.0.1:5151",
    });
    expect(world.stderr.text).toContain("One of the hubs that share nats://n1:4222, nats://n2");
    expect(world.stderr.text).not.toContain("!");
  });

  test("has the address that --advertise gives", async () => {
    const world = worldWith();
    await serve(world, ...flags, "--lan", "--advertise", "https://h1.example.org/");
    expect(world.hubs[0]?.cluster?.advertiseUrl).toBe("https://h1.example.org");
    expect(world.stderr.text).toContain("https://h1.example.org  (advertised)");
  });

  test("is reached by other hubs at the URL that --link-url gives", async () => {
    const world = worldWith();
    const urls = ["--advertise", "https://h1.example.org", "--link-url", "http://hub1:5050/"];
    await serve(world, ...flags, "--lan", ...urls);
    expect(world.hubs[0]?.cluster).toMatchObject({
      advertiseUrl: "https://h1.example.org",
      linkUrl: "http://hub1:5050",
    });
  });

  test("keeps nothing on the servers' disks with --ephemeral", async () => {
    const world = worldWith();
    await serve(world, ...flags, "--ephemeral");
    expect(world.directories[0]?.storage).toBe("memory");
  });

  test("passes credentials and certificates on", async () => {
    const world = worldWith();
    world.context.readFile = async (path) => {
      if (path === "/hub.creds") return "creds";
      throw Object.assign(new Error(`no ${path}`), { code: "ENOENT" });
    };
    world.context.env = { ROOMHUB_NATS_CREDS: "/hub.creds", ROOMHUB_NATS_CA: "/ca.pem" };
    await serve(world, ...flags, "--nats-cert", "/c.pem", "--nats-key", "/k.pem");
    expect(world.directories[0]).toMatchObject({
      credentials: "creds",
      tls: { caFile: "/ca.pem", certFile: "/c.pem", keyFile: "/k.pem" },
    });
  });

  test("ignores the line end of its secret", async () => {
    const world = worldWith(`${secret}\n`);
    await serve(world, ...flags);
    expect(world.hubs[0]?.cluster?.secret).toEqual(Buffer.from(secret));
  });

  test("warns once when others can read its secret", async () => {
    const world = worldWith(secret, true);
    expect(await serve(world, ...flags)).toBe(0);
    expect(world.stderr.text.match(/chmod 600 \/run\/secret/g)).toHaveLength(1);
  });

  test("warns when its password is among the arguments, and shows it nowhere", async () => {
    const world = worldWith();
    await serve(world, ...flags.slice(2), "--nats", "nats://hub:hunter2@n1:4222");
    expect(world.stderr.text).toContain("pass it in ROOMHUB_NATS");
    await world.run("config", "--nats", "nats://hub:hunter2@n1:4222");
    await world.run("config", "--json", "--nats", "nats://hub:hunter2@n1:4222");
    expect(world.stdout.text).toContain("nats://hub:…@n1:4222");
    expect(world.stderr.text + world.stdout.text).not.toContain("hunter2");
  });

  test.each([
    [["--nats", "nats://n1"], "--cluster-secret-file"],
    [[...flags, "--lan"], "--advertise"],
    [["--nats", "http://hub:hunter2@n1", ...flags.slice(2)], "takes nats://HOST:PORT"],
    [[...flags, "--advertise", "h1:5050"], "Must be an http:// or https:// URL"],
    [["--advertise", "http://h1:5050"], "--advertise is for a hub in a cluster"],
    [["--link-url", "http://h1:5050"], "--link-url is for a hub in a cluster"],
    [["--cluster-secret-file", "/run/secret"], "also pass --nats URL"],
  ])("needs what belongs together: %j", async (args, problem) => {
    const world = worldWith();
    expect(await serve(world, ...args)).toBe(2);
    expect(world.stderr.text).toContain(problem);
    expect(world.stderr.text).not.toContain("hunter2");
    expect(world.hubs).toEqual([]);
  });

  test("refuses a secret that is too short", async () => {
    const world = worldWith("short\n");
    expect(await serve(world, ...flags)).toBe(2);
    expect(world.stderr.text).toContain("is 5 bytes long, and needs at least 32");
  });

  test.each([
    [
      ...["NATS cannot be reached", "DirectoryUnavailable"],
      ...["NATS at n1:4222 cannot be reached: refused", "start it, or check --nats"],
    ],
    [
      ...["another hub has its id", "HubIdTaken"],
      "A hub running since 2027 has the id of this one: it is reached at http://a, this one at http://a",
      "give each hub a URL of its own: --advertise, and --link-url if it has one",
    ],
  ])("says in one line that %s", async (_what, name, message, hint) => {
    const world = worldWith();
    const failure = Object.assign(new Error(`${message}.`), { name });
    const { createHub } = world.context;
    world.context.createHub = async (options) => ({
      ...(await createHub(options)),
      listen: () => Promise.reject(failure),
    });
    expect(await serve(world, ...flags)).toBe(1);
    expect(world.stderr.text).toBe(`error: ${message}\n→ ${hint}\n`);
  });
});
