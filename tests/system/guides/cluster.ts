import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LIMITS, systemWorld, type World } from "@roomhub/protocol";
import { expect, vi } from "vitest";
import { WebSocket } from "ws";
import { parseAllDocuments } from "yaml";
import { makeWorld } from "../../../packages/cli/src/test-context.fixture.ts";
import {
  aPresence,
  aStoredRoom,
  Replica,
} from "../../../packages/hub/src/cluster/directory-compliance.fixture.ts";
import { aRegistration } from "../../../packages/hub/src/cluster/homes/registration.fixture.ts";
import {
  NatsDirectory,
  type NatsDirectoryOptions,
} from "../../../packages/hub/src/cluster/nats/nats-directory.ts";
import { hasOpenssl, makeCertificate } from "../../support/programs/certificate.ts";
import { startCluster } from "../../support/hub/start-cluster.ts";
import { hasHaproxy, startHaproxy } from "../../support/programs/haproxy.ts";
import { hasNatsServer, startNatsServer } from "../../support/programs/nats-server.ts";
import { freePort, hasNginx, startNginx } from "../../support/programs/nginx.ts";
import { temporaryFolder } from "../../support/programs/temporary-folder.ts";
import { readGuides, shellWords } from "../../support/documents/guide.ts";
import type { GuideLab } from "../../support/documents/guide-lab.ts";
import { until } from "../../support/waiting.ts";
import type { BlockPlan } from "./block-plan.ts";

const login = "hub:change-this-password";

export const cluster: readonly BlockPlan[] = [
  { begins: "openssl rand", cannot: "it writes into the working directory" },
  {
    begins: "nats-server -a",
    missing: hasNatsServer ? undefined : "nats-server is not installed",
    follow: startTwoHubs,
  },
  { begins: "npx roomhub room create", cannot: "it is run with the hubs of the block before" },
  { begins: "export ROOMHUB_NATS", cannot: "it is for several machines" },
  {
    begins: "npx roomhub rooms import",
    cannot: "it is about the user's own hub; a test of its own imports rooms",
  },
];

export const clusterBalancer: readonly BlockPlan[] = [
  {
    begins: "# /etc/haproxy/haproxy.cfg",
    missing: hasHaproxy ? undefined : "haproxy is not installed",
    follow: balance,
  },
  {
    begins: "map $uri $room",
    missing: hasNginx ? undefined : "nginx is not installed",
    follow: balanceWithNginx,
  },
];

export const kubernetes: readonly BlockPlan[] = [
  { begins: "apiVersion: v1", cannot: "it needs Kubernetes", follow: readManifest },
];

export const natsReference: readonly BlockPlan[] = [
  {
    begins: "# /etc/nats-server.conf",
    missing: hasNatsServer && hasOpenssl ? undefined : "nats-server and openssl are not installed",
    follow: useAllPermissions,
  },
  {
    begins: 'jetstream {\n  store_dir: "/var/lib/nats"\n  sync_interval',
    cannot: "it needs nats-server 2.10",
  },
];

/** The guide's own lines, at other ports and with another file for the secret. */
async function startTwoHubs(block: string, lab: GuideLab): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const [natsLine = "", ...hubLines] = block.trim().split("\n");
  expect(shellWords(natsLine)).toEqual(expect.arrayContaining(["nats-server", "-js"]));
  const nats = stack.use(await startNatsServer());
  const secretFile = join(stack.use(await temporaryFolder()).path, "cluster.secret");
  await writeFile(secretFile, `${"5".repeat(64)}\n`, { mode: 0o600 });
  const ports: Record<string, string> = {
    "5051": String(await freePort()),
    "5052": String(await freePort()),
  };
  const here = (line: string) =>
    line
      .replaceAll("nats://127.0.0.1:4222", nats.url)
      .replaceAll("cluster.secret", secretFile)
      .replaceAll(/\b505[12]\b/g, (port) => ports[port] ?? "");
  for (const line of hubLines) {
    const hub = stack.use(lab.start(here(line)));
    await hub.says(/the hub is ready/);
  }
  const guide = readGuides().find(({ path }) => path === "docs/guides/cluster.md");
  const then = guide?.blocks.find(({ text }) => text.startsWith("npx roomhub room create"))?.text;
  const expected = [/Use it:/, /lab/, /(?:this hub|open)\n.*open|open\n.*this hub/];
  for (const [n, line] of (then ?? "").trim().split("\n").entries()) {
    const command = stack.use(lab.start(here(line)));
    await command.says(expected[n] ?? /never/);
  }
}

interface Manifest {
  kind: string;
  metadata: { name: string };
  spec: {
    serviceName?: string;
    replicas?: number;
    template?: {
      spec: {
        terminationGracePeriodSeconds: number;
        containers: { args: string[]; env: { name: string; valueFrom: object }[] }[];
      };
    };
  };
}

/** Its hubs are started with a command that the program takes, each with a URL of its own. */
async function readManifest(block: string): Promise<void> {
  const documents = parseAllDocuments(block).map((document) => document.toJS() as Manifest);
  const named = (kind: string) => documents.filter((one) => one.kind === kind);
  const [set] = named("StatefulSet");
  const services = named("Service").map(({ metadata }) => metadata.name);
  const { template, serviceName, replicas = 0 } = set?.spec ?? {};
  expect(services).toContain(serviceName);
  expect(JSON.stringify(named("Ingress"))).toContain(`"service":{"name":"${services[1]}"`);
  const [container] = template?.spec.containers ?? [];
  expect(container?.env).toContainEqual({
    name: "ROOMHUB_NATS",
    valueFrom: { secretKeyRef: { name: "roomhub", key: "nats" } },
  });
  const seen = new Set<string | undefined>();
  for (let n = 0; n < replicas; n++) {
    const pod = `${set?.metadata.name}-${n}`;
    const world = makeWorld({
      env: { ROOMHUB_HOST: "0.0.0.0", ROOMHUB_NATS: "nats://hub:secret@nats:4222" },
      readSecretFile: async () => ({ bytes: Buffer.alloc(64, "a"), isReadableByOthers: false }),
    });
    const args = container?.args.map((one) => one.replace("$(POD_NAME)", pod)) ?? [];
    const running = world.run(...args);
    await vi.waitFor(() => expect(world.stderr.text).toMatch(/ready at|error:/));
    world.stop();
    expect(await running).toBe(0);
    const { cluster, publicUrl } = world.hubs[0] ?? {};
    expect(cluster?.advertiseUrl).toBe(`http://${pod}.${serviceName}:5050`);
    expect(publicUrl).toBe("https://hub.example.org");
    seen.add(cluster?.advertiseUrl);
  }
  expect(seen.size).toBe(3);
  expect((template?.spec.terminationGracePeriodSeconds ?? 0) * 1_000).toBeGreaterThan(
    LIMITS.drainMs.default,
  );
}

/** The guide's own configuration, with the port and the hubs of this machine. */
async function balance(block: string): Promise<void> {
  await using cluster = await startCluster(3);
  await using stack = new AsyncDisposableStack();
  const hosts = cluster.hubs.map(({ url }) => new URL(url).host);
  const url = await startHaproxy(hosts, stack, (port) =>
    withHosts(block, hosts)
      .replace(/bind .*/, `bind 127.0.0.1:${port}`)
      .replace("option httpchk", "http-response set-header x-asked %s\n  option httpchk"),
  );
  await hashesRooms(url, (code) => code.toLowerCase());
}

/** Its lines, and those of the page about proxies, without TLS. */
async function balanceWithNginx(block: string): Promise<void> {
  await using cluster = await startCluster(3);
  await using stack = new AsyncDisposableStack();
  const hosts = cluster.hubs.map(({ url }) => new URL(url).host);
  const proxies = readGuides().find(({ path }) => path === "docs/guides/behind-a-proxy.md");
  const server = proxies?.blocks.find(({ language }) => language === "nginx")?.text ?? "";
  const port = await freePort();
  const next = "proxy_next_upstream error timeout http_503 non_idempotent;";
  expect(
    readGuides().find(({ path }) => path === "docs/guides/cluster-balancer.md")?.text,
  ).toContain(next);
  const asked = "add_header x-asked $upstream_addr always;";
  await startNginx(
    withHosts(block, hosts) +
      server
        .replace("listen 443 ssl", `listen 127.0.0.1:${port}`)
        .replaceAll(/ *(?:ssl_certificate|server_name).*\n/g, "")
        .replace("proxy_pass http://127.0.0.1:5050;", `proxy_pass http://hubs; ${next} ${asked}`),
    stack,
  );
  const url = `http://127.0.0.1:${port}`;
  const isUp = () =>
    fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until("nginx to respond", isUp, (ok) => ok);
  await hashesRooms(url, (code) => code);
}

function withHosts(block: string, hosts: readonly string[]): string {
  return hosts.reduce((text, host, n) => text.replace(`10.0.0.1${n + 1}:5050`, host), block);
}

/**
 * All that is about a room comes to one hub, also its tunnels, and rooms come to all of them.
 *
 * @param typed - a room's code as someone may write it
 */
async function hashesRooms(url: string, typed: (code: string) => string): Promise<void> {
  const askedBy = async (path: string) => {
    const response = await fetch(url + path);
    expect(response.status).toBe(200);
    await response.text();
    return response.headers.get("x-asked") ?? "";
  };
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ name: "lab" });
  const homes = new Set<string>();
  for (let n = 0; n < 12; n++) {
    const created = await fetch(`${url}/rooms`, { method: "POST", headers, body });
    const { room } = (await created.json()) as { room: { code: string } };
    const paths = [
      `/rooms/${room.code}`,
      `/rooms/${typed(room.code)}/v1/models?n=1`,
      `/v1/rooms/${room.code}/participants`,
    ];
    const asked = new Set(await Promise.all(paths.map(askedBy)));
    asked.add(await tunnelAskedBy(url, room.code));
    expect(asked.size).toBe(1);
    for (const hub of asked) homes.add(hub);
  }
  expect(homes.size).toBeGreaterThan(1);
  // What has no room is asked of each in turn.
  const others = await Promise.all(Array.from({ length: 12 }, () => askedBy("/health")));
  expect(new Set(others).size).toBe(3);
}

/** The hub refuses it: there is no participant. */
function tunnelAskedBy(url: string, code: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const path = `/v1/rooms/${code}/participants/ada/tunnel`;
    const socket = new WebSocket(new URL(path, url.replace("http", "ws")), "roomhub.tunnel.v1");
    socket.on("unexpected-response", (_request, response) => {
      resolve(response.headers["x-asked"]?.toString() ?? "");
      socket.terminate();
    });
    socket.on("open", () => reject(new Error("there is no participant")));
    socket.on("error", () => undefined);
  });
}

/** All that hubs do, with the account as the guide sets it up, and nothing that they do not. */
async function useAllPermissions(block: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const { certificateFile, keyFile } = await makeCertificate(stack);
  const text = block
    .replace("/etc/nats/certificate.pem", certificateFile)
    .replace("/etc/nats/key.pem", keyFile)
    // It is given to the program, which takes it once.
    .replace(/ *store_dir: .*/, "");
  const config = join(stack.use(await temporaryFolder()).path, "nats.conf");
  await writeFile(config, text);
  const { port } = stack.use(await startNatsServer(["-c", config]));
  const url = `tls://${login}@localhost:${port}`;
  const warnings: string[] = [];

  const open = async (options: Partial<NatsDirectoryOptions> = {}) => {
    const onWarning = (message: string) => warnings.push(message);
    const tls = { caFile: certificateFile };
    const directory = new NatsDirectory({ servers: [url], tls, onWarning, ...options });
    stack.defer(() => directory.close());
    const replica = new Replica();
    await directory.open(replica);
    return { directory, replica };
  };

  const actions: (() => void)[] = [];
  let nowMs = 0;
  const world: World = {
    ...systemWorld,
    monotonicMs: () => nowMs,
    setInterval: (action) => actions.push(action),
    unref: (timer) => timer,
    clearInterval: () => undefined,
  };
  const one = await open({ world });
  const other = await open();
  one.directory.announce(() => aPresence("00000000000000aa"));
  await other.replica.until("the hub", () => other.replica.hubs.size === 1);
  const revision = (await one.directory.putRoom(aStoredRoom("AB23CD"), 0)) ?? 0;
  await expect(other.directory.readRoom("AB23CD")).resolves.toMatchObject({ revision });
  const home = { hubId: "00000000000000aa", bootId: "00000001", epoch: 1 };
  const homeRevision = (await one.directory.putHome("AB23CD", home, 0)) ?? 0;
  await other.replica.until("the home", () => other.replica.homes.size === 1);
  await expect(other.directory.readHome("AB23CD")).resolves.toMatchObject({ home });
  await one.directory.putRegistration(aRegistration("AB23CD", "ada"));
  await one.directory.putRegistration(aRegistration("AB23CD", "bob"));
  await one.directory.deleteRegistration("AB23CD", "bob");
  await expect(other.directory.readRegistrations("AB23CD")).resolves.toMatchObject([{ id: "ada" }]);
  await one.directory.deleteRoom("AB23CD", revision);
  await other.replica.until("the deletion", () => other.replica.rooms.size === 0);
  await one.directory.deleteHome("AB23CD", homeRevision);
  await one.replica.until("that of the home", () => one.replica.homes.size === 0);
  nowMs += 24 * 3_600_000;
  // The removal of what marks the deletions is one of them: that of the room is requested before the room is made again.
  for (const action of actions) action();
  await one.directory.putRoom(aStoredRoom("AB23CD"), 0);
  const late = await open();
  expect(late.replica.rooms.size).toBe(1);
  await one.directory.close();
  await other.replica.until("its end", () => other.replica.left.length === 1);
  expect(warnings).toEqual([]);

  // And it is an account of few permissions.
  const elsewhere = new NatsDirectory({
    ...{ servers: [url], prefix: "other", tls: { caFile: certificateFile } },
  });
  await expect(elsewhere.open(new Replica())).rejects.toThrow(/no JetStream/);
  await elsewhere.close();
  const unchecked = new NatsDirectory({ servers: [url] });
  await expect(unchecked.open(new Replica())).rejects.toThrow(/certificate/);
  await unchecked.close();
}
