import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LIMITS } from "@roomhub/protocol";
import { describe, expect, test, vi } from "vitest";
import { makeWorld } from "../../packages/cli/src/test-context.fixture.ts";
import {
  type ComposeService,
  durationMs,
  environmentOf,
  readComposeFile,
} from "../support/documents/compose-file.ts";
import { readGuides, root } from "../support/documents/guide.ts";
import { hasHaproxy, haproxySkipped } from "../support/programs/haproxy.ts";
import { hasNatsServer, natsSkipped } from "../support/programs/nats-server.ts";
import { runCommand } from "../support/programs/run-command.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";

const path = "compose.cluster.yaml";
const address = "192.168.1.5";
const compose = readComposeFile(path, { HUB_ADDRESS: address });
const { services } = compose;
const hubs = Object.entries(services).filter(([, { build }]) => build === ".");
const haproxyConfig = readFileSync(join(root, "compose/haproxy.cfg"), "utf8");

/** Starts the command in a world without sockets, with the variables of the secret file. */
async function startedHub(service: ComposeService) {
  const env = environmentOf(service);
  const read: string[] = [];
  const world = makeWorld({
    env,
    addVariablesFrom: async (file) => {
      read.push(file);
      env["ROOMHUB_NATS"] = "nats://hub:s3cret@nats:4222";
    },
    readSecretFile: async (file) => {
      read.push(file);
      return { bytes: Buffer.alloc(64, "a"), isReadableByOthers: false };
    },
  });
  const running = world.run(...service.command);
  await vi.waitFor(() => expect(world.stderr.text).toMatch(/ready at|error:/));
  world.stop();
  expect([world.stderr.text, await running]).toEqual([expect.not.stringContaining("!"), 0]);
  return { options: world.hubs[0], directory: world.directories[0], read };
}

describe("the compose file of a cluster", () => {
  test("runs three hubs with commands that the program takes, each with URLs of its own", async () => {
    expect(hubs.map(([name]) => name)).toEqual(["hub1", "hub2", "hub3"]);
    const seen: unknown[] = [];
    for (const [name, service] of hubs) {
      const { options, directory, read } = await startedHub(service);
      expect(directory?.servers).toEqual(["nats://hub:s3cret@nats:4222"]);
      expect(read).toEqual(["/run/secrets/hub.env", "/run/secrets/cluster.secret"]);
      expect(service.secrets?.toSorted()).toEqual(["cluster.secret", "hub.env"]);
      expect(options).toMatchObject({
        ...{ host: "0.0.0.0", port: 5050, ownership: "compat" },
        trustProxy: [services["balancer"]?.networks?.default.ipv4_address],
        cluster: { linkUrl: `http://${name}:5050` },
      });
      const [published] = service.ports?.[0]?.split(":") ?? [];
      expect(service.ports).toEqual([`${published}:5050`]);
      expect(options?.cluster?.advertiseUrl).toBe(`http://${address}:${published}`);
      seen.push(options?.cluster?.advertiseUrl);
    }
    expect(new Set(seen).size).toBe(3);
  });

  test("does not start without an address for participants", () => {
    expect(() => readComposeFile(path, {})).toThrow(/HUB_ADDRESS is not set: the name or address/);
  });

  test("mounts files that are there, and secrets that the guide makes", () => {
    const mounts = Object.values(services).flatMap(({ volumes = [] }) => volumes);
    const files = mounts
      .filter((mount) => mount.startsWith("."))
      .map((mount) => mount.split(":")[0] ?? "");
    expect(files).toHaveLength(2);
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
    const named = mounts
      .filter((mount) => !mount.startsWith("."))
      .map((mount) => mount.split(":")[0]);
    expect(named).toEqual(Object.keys(compose.volumes));
    const used = Object.values(services).flatMap(({ secrets = [] }) =>
      secrets.map((secret) => (typeof secret === "string" ? secret : secret.source)),
    );
    expect(new Set(used)).toEqual(new Set(Object.keys(compose.secrets)));
    const guide = readGuides().find((one) => one.path === "docs/guides/docker-cluster.md");
    const made = [...(guide?.text.matchAll(/> (secrets\/\S+)$/gm) ?? [])].map(
      ([, file]) => `./${file}`,
    );
    expect(made).toEqual(Object.values(compose.secrets).map(({ file }) => file));
    expect(readFileSync(join(root, ".gitignore"), "utf8")).toContain("\n/secrets/\n");
  });

  test("waits longer for a hub that stops than the hub takes", () => {
    const handOverMs = 5_000;
    for (const [name, { stop_grace_period: grace }] of hubs)
      expect(durationMs(grace), name).toBeGreaterThan(handOverMs + LIMITS.drainMs.default);
    const hardStop = /hard-stop-after (\S+)/.exec(haproxyConfig)?.[1];
    expect(durationMs(services["balancer"]?.stop_grace_period)).toBeGreaterThan(
      durationMs(hardStop),
    );
  });

  test("starts what others need first, and checks the health of all", () => {
    const conditions = Object.values(services).flatMap(({ depends_on: needed = {} }) =>
      Object.entries(needed),
    );
    for (const [name, { condition }] of conditions) {
      expect([name, condition]).toEqual([name, "service_healthy"]);
      expect(services[name]?.healthcheck?.test[0]).toBe("CMD");
    }
    expect(Object.keys(services["balancer"]?.depends_on ?? {})).toEqual(hubs.map(([name]) => name));
    expect(services["balancer"]?.healthcheck).toBeDefined();
  });

  test("gives the balancer an address that no other container gets", () => {
    const [{ subnet, ip_range: others } = { subnet: "", ip_range: "" }] =
      compose.networks.default.ipam.config;
    const own = services["balancer"]?.networks?.default.ipv4_address ?? "";
    expect([subnet, others]).toEqual([
      expect.stringMatching(/\.0\/24$/),
      expect.stringMatching(/\.128\/25$/),
    ]);
    expect(own.split(".").slice(0, 3)).toEqual(subnet.split(".").slice(0, 3));
    expect(Number(own.split(".")[3])).toBeLessThan(128);
  });
});

describe("the balancer's configuration", () => {
  test("names the hubs of the file, and the port that it publishes", () => {
    const servers = [...haproxyConfig.matchAll(/^ +server (\S+) (\S+)$/gm)].map(
      ([, ...each]) => each,
    );
    expect(servers).toEqual(hubs.map(([name]) => [name, `${name}:5050`]));
    expect(haproxyConfig).toContain("bind :5050\n");
    expect(services["balancer"]?.ports).toEqual(["5050:5050"]);
  });

  test("lets a request and a stream last as long as hubs do", () => {
    for (const side of ["client", "server", "tunnel"]) {
      const [, hours, minutes] =
        new RegExp(`timeout ${side} (?:(\\d+)h|(\\d+)m)`).exec(haproxyConfig) ?? [];
      const ms = Number(hours ?? 0) * 3_600_000 + Number(minutes ?? 0) * 60_000;
      expect(ms, side).toBeGreaterThan(LIMITS.requestMs.default);
    }
  });

  test.skipIf(!hasHaproxy)(`is one that HAProxy takes${haproxySkipped}`, async () => {
    const checked = await runCommand("haproxy", ["-c", "-f", join(root, "compose/haproxy.cfg")]);
    expect([checked.exitCode, checked.stderr]).toEqual([0, expect.not.stringContaining("ALERT")]);
  });
});

test.skipIf(!hasNatsServer)(
  `the configuration of NATS is one that it takes${natsSkipped}`,
  async () => {
    await using folder = await temporaryFolder();
    const text = readFileSync(join(root, "compose/nats-server.conf"), "utf8");
    // From version 2.10 on.
    const known = text.replace(/ *sync_interval.*\n/, "");
    await writeFile(join(folder.path, "nats-server.conf"), known);
    await writeFile(
      join(folder.path, "account.conf"),
      'authorization { user: hub, password: "x" }\n',
    );
    const config = join(folder.path, "nats-server.conf");
    const { exitCode, stderr } = await runCommand("nats-server", ["-t", "-c", config]);
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("is valid")]);
  },
);
