import { expect, test, vi } from "vitest";
import type { Client } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import { makeWorld, type TestWorld } from "../test-context.fixture.ts";

/** Runs `serve` until it has said its banner, then stops it. */
async function serve(world: TestWorld, ...args: string[]): Promise<number> {
  const running = world.run("serve", ...args);
  await vi.waitFor(() => {
    if (world.stderr.text + world.stdout.text === "") throw new Error("not yet");
  });
  world.stop();
  return running;
}

test("serve is reachable from this machine only and shows how to open it", async () => {
  const world = makeWorld();
  expect(await serve(world)).toBe(0);
  expect(world.hubs[0]).toMatchObject({ host: undefined, port: 5050, logFormat: "text" });
  expect(world.stderr.text).toContain("the hub is ready at http://127.0.0.1:5050\n");
  expect(world.stderr.text).toContain("Reachable from this machine only");
  expect(world.stderr.text).toContain("roomhub serve --lan");
  expect(world.stderr.text).toContain("/state/rooms-5050.json");
  expect(world.stdout.text).toBe("");
  expect(world.closedHubs).toBe(1);
});

test("serve --create host shows how its operator creates a room", async () => {
  const world = makeWorld();
  expect(await serve(world, "--create", "host")).toBe(0);
  expect(world.stderr.text).toContain('room create "my room" --operator-file PATH\n');
});

test.each([
  [false, "0.0.0.0"],
  [true, "::"],
])(
  "serve --lan listens on every address (IPv6 here: %s) and prints the addresses",
  async (hasIpv6, host) => {
    const world = makeWorld({ hasIpv6 });
    await serve(world, "--lan", "--port", "6060");
    expect(world.hubs[0]).toMatchObject({ host, port: 6060 });
    expect(world.stderr.text).toContain("Open to anyone who can reach these addresses");
    expect(world.stderr.text).toContain("http://192.168.1.5:6060  (eth0)");
    expect(world.stderr.text).toContain(
      "npx -y http://192.168.1.5:6060/roomhub.tgz join http://192.168.1.5:6060/rooms/CODE",
    );
  },
);

test("a public URL is the URL printed for others", async () => {
  const world = makeWorld();
  await serve(world, "--public-url", "https://hub.example.org/");
  expect(world.stderr.text).toContain(
    "npx -y https://hub.example.org/roomhub.tgz join https://hub.example.org/rooms/CODE",
  );
});

test("every option reaches the hub", async () => {
  const world = makeWorld();
  const proxies = "10.0.0.0/8, 192.168.0.0/16";
  const options = ["--host", "10.1.2.3", "--no-direct", "--trust-proxy", proxies];
  await serve(world, ...options, "--ownership", "strict", "--log-format", "json", "--ephemeral");
  expect(world.hubs[0]).toMatchObject({
    host: "10.1.2.3",
    store: undefined,
    direct: false,
    ownership: "strict",
    trustProxy: ["10.0.0.0/8", "192.168.0.0/16"],
    sharedAddresses: [],
    logFormat: "json",
  });
  expect(world.stderr.text).toContain("http://10.1.2.3:5050");
  expect(world.stderr.text).toContain("Rooms are lost when the hub stops");
});

const env = {
  ROOMHUB_PORT: "7070",
  ROOMHUB_LAN: "1",
  ROOMHUB_STATE_FILE: "/data/rooms.json",
  ROOMHUB_DIRECT: "0",
  ROOMHUB_OWNERSHIP: "open",
  ROOMHUB_CLOSED: "1",
  ROOMHUB_CREATE: "host",
  ROOMHUB_DISTRUST_GATEWAY: "1",
  ROOMHUB_LOG_FORMAT: "json",
  ROOMHUB_QUEUE_WAIT_MS: "5",
  ROOMHUB_INFORMATIONAL: "off",
};

test("every option can come from the environment, limits too", async () => {
  const world = makeWorld({ env });
  await serve(world);
  expect(world.hubs[0]).toMatchObject({
    host: "0.0.0.0",
    port: 7070,
    direct: false,
    ownership: "open",
    closed: true,
    create: "host",
    sharedAddresses: ["172.17.0.1"],
    logFormat: "json",
    limits: { queueWaitMs: 5, informationalMs: 0 },
  });
  expect(world.stderr.text).toContain("/data/rooms.json");
});

test.each(["0", "false", "no", "off"])("ROOMHUB_LAN=%s keeps the hub closed", async (value) => {
  const world = makeWorld({ env: { ROOMHUB_LAN: value } });
  await serve(world);
  expect(world.hubs[0]).toMatchObject({ host: undefined });
});

test.each([
  ["ROOMHUB_LAN", "maybe"],
  ["ROOMHUB_ROOMS", "many"],
])("%s=%s is a usage error that names the variable", async (name, value) => {
  const world = makeWorld({ env: { [name]: value } });
  expect(await world.run("serve")).toBe(2);
  expect(world.stderr.text).toContain(name);
});

test("--json prints where the hub is and nothing for people on stdout", async () => {
  const world = makeWorld();
  await serve(world, "--json", "--lan");
  expect(JSON.parse(world.stdout.text)).toEqual({
    url: "http://127.0.0.1:5050",
    port: 5050,
    sharedUrls: ["http://192.168.1.5:5050"],
    statePath: "/state/rooms-5050.json",
  });
});

test("serve does not claim to keep rooms when the state file cannot be written", async () => {
  const store = {
    ...{ isKeeping: false, load: async () => [], save: async () => {}, close: async () => {} },
  };
  const openRoomStore = async () => ({ store, path: "/read-only/rooms.json" });
  const json = makeWorld({ openRoomStore });
  await serve(json, "--json");
  expect(JSON.parse(json.stdout.text)).toMatchObject({ statePath: null });
  const text = makeWorld({ openRoomStore });
  await serve(text);
  expect(text.stderr.text).toContain("the hub is ready");
  expect(text.stderr.text).not.toMatch(/Rooms are|read-only/);
});

function occupied(code: string): CliContext["createHub"] {
  return failing(Object.assign(new Error(`listen ${code}`), { code, syscall: "listen" }));
}

function failing(failure: Error): CliContext["createHub"] {
  return async () => ({
    listen: () => Promise.reject(failure),
    watch: () => () => {},
    prepareHandout: async () => undefined,
    replaceCertificate: () => undefined,
    close: async () => ({ cut: 0 }),
  });
}

function healthy(status: "ok" | "draining"): Partial<Client> {
  const health = { status, version: "9.9", uptimeSeconds: 1, timestamp: "t" };
  return { health: async () => health };
}

test.each(["serve", "up"])(
  "%s on a port in use by another hub shows how to use that hub",
  async (command) => {
    const createHub = occupied("EADDRINUSE");
    const world = makeWorld({ createHub }, healthy("ok"));
    expect(await world.run(command)).toBe(1);
    expect(world.clientUrls).toEqual(["http://127.0.0.1:5050"]);
    expect(world.stderr.text).toBe(
      "error: A roomhub hub (9.9) is already running at http://127.0.0.1:5050\n" +
        "→ use it, or choose another port: --port 5051\n" +
        "  roomhub join http://127.0.0.1:5050  # share a model there\n" +
        "  roomhub room list --hub http://127.0.0.1:5050  # see its rooms\n",
    );
  },
);

test("a port that a stopping hub still has is free again soon", async () => {
  const world = makeWorld({ createHub: occupied("EADDRINUSE") }, healthy("draining"));
  expect(await world.run("serve", "--port", "6060")).toBe(1);
  expect(world.stderr.text).toBe(
    "error: A roomhub hub (9.9) at http://127.0.0.1:6060 is still stopping\n" +
      "→ wait until it has stopped; or choose another port: --port 6061\n",
  );
});

test("another program with a health page is not a hub", async () => {
  const health = async () => ({ status: "ok", version: "2" }) as never;
  const world = makeWorld({ createHub: occupied("EADDRINUSE") }, { health });
  await world.run("serve");
  expect(world.stderr.text).toBe(
    "error: Port 5050 is in use by another program\n→ choose another port: --port 5051\n",
  );
});

test.each([
  ["EADDRINUSE", "Port 5050 is in use by another program"],
  ["EACCES", "This user is not permitted to open port"],
  ["EADDRNOTAVAIL", "This machine has no address"],
])("%s is one sentence without a stack trace", async (code, message) => {
  const world = makeWorld({ createHub: occupied(code) });
  expect(await world.run("serve")).toBe(1);
  expect(world.stderr.text).toContain(message);
  expect(world.stderr.text).not.toMatch(/\n\s+at /);
});

test("a state file locked by another hub on the port shows how to use that hub", async () => {
  const locked = Object.assign(new Error("in use by process 1"), { name: "StateFileLockedError" });
  const here = makeWorld({ createHub: failing(locked) }, healthy("ok"));
  await here.run("serve");
  expect(here.stderr.text).toContain("A roomhub hub (9.9) is already running");
  const elsewhere = makeWorld({ createHub: failing(locked) });
  await elsewhere.run("serve");
  expect(elsewhere.stderr.text).toContain("error: in use by process 1");
});

test.each([
  [0, 0, "Stopped\n"],
  [
    1,
    1,
    "error: 1 request was interrupted by the shutdown\n→ allow running requests more time: --limit drainMs",
  ],
  [7, 1, "error: 7 requests were interrupted by the shutdown\n"],
])("a hub that interrupts %i requests exits with %i", async (cut, code, said) => {
  const world = makeWorld();
  world.cut = cut;
  expect(await serve(world)).toBe(code);
  expect(world.stderr.text).toContain(said);
});

test("what is set nearer wins, also between settings that contradict each other", async () => {
  const readFile = async () =>
    JSON.stringify({ host: "10.1.2.3", stateFile: "/far.json", port: 7070, lan: true });
  const far = makeWorld({ readFile });
  await serve(far);
  expect(far.hubs[0]).toMatchObject({ host: "10.1.2.3", port: 7070 });
  expect(far.stderr.text).toContain("Settings from roomhub.config.json\n");
  expect(far.stderr.text).toContain("Rooms are kept in /far.json");
  const near = makeWorld({ readFile, env: { ROOMHUB_PORT: "7171" } });
  await serve(near, "--lan", "--ephemeral");
  expect(near.hubs[0]).toMatchObject({ host: "0.0.0.0", port: 7171, store: undefined });
});

test("a hub that hands out nothing names the installed command", async () => {
  const world = makeWorld();
  await serve(world, "--lan", "--no-handout");
  expect(world.hubs[0]?.handout).toBeUndefined();
  expect(world.stderr.text).toContain("roomhub join http://192.168.1.5:5050/rooms/CODE");
  expect(world.stderr.text).not.toContain("npx");
});

test("a program that cannot be made is reported, and the hub serves without it", async () => {
  const world = makeWorld();
  const { createHub } = world.context;
  world.context.createHub = async (options) => ({
    ...(await createHub(options)),
    prepareHandout: async () => {
      throw new Error("The program could not be built: no compiler.");
    },
  });
  await serve(world, "--lan");
  expect(world.stderr.text).toContain(
    "! The program is not handed out: The program could not be built: no compiler. Others need",
  );
});

test("serve --workers is an error that names the guide to several hubs", async () => {
  const world = makeWorld();
  expect(await world.run("serve", "--workers", "2")).toBe(2);
  expect(world.stderr.text).toMatch(/--workers was removed.*docs\/guides\/cluster-balancer\.md/);
  expect(world.hubs).toEqual([]);
});
