import { randomInt } from "node:crypto";
import { spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  type ComposeFile,
  type ComposeService,
  environmentOf,
  readComposeFile,
} from "../documents/compose-file.ts";
import { readGuides, root } from "../documents/guide.ts";
import { until } from "../waiting.ts";
import { startProgram } from "./program.ts";
import { type RoomhubProcess, startRoomhub } from "./roomhub-process.ts";
import { runCommand } from "./run-command.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Stands for the machine in the guide, and in what a reader writes into `.env`. */
const machine = "192.168.1.5";

/** A cluster as `compose.cluster.yaml` has it, as processes of this machine. Linux. */
export interface ComposedCluster {
  /** of the balancer */
  url: string;
  hubs: Record<string, RoomhubProcess & { url: string }>;
  /** Starts a hub that has ended, with the same command. */
  start: (name: string) => Promise<void>;
}

/**
 * Runs the commands of the file with its configurations, and the secrets that the guide makes. Instead of a container each
 * service has a loopback address of its own, which takes the place of its name; ports are those of the file.
 */
export async function startComposedCluster(stack: AsyncDisposableStack): Promise<ComposedCluster> {
  const compose = readComposeFile("compose.cluster.yaml", { HUB_ADDRESS: machine });
  const { path } = stack.use(await temporaryFolder());
  const places = new Places(compose, path);
  await places.makeFiles();

  const hubs: ComposedCluster["hubs"] = {};
  const start = async (name: string) => {
    const service = compose.services[name];
    if (service === undefined) throw new Error(`there is no service ${name}`);
    const env = Object.entries(environmentOf(service)).map(([key, text]) => [
      key,
      places.here(text),
    ]);
    const own = { ...Object.fromEntries(env), ROOMHUB_HOST: places.addressOf(name) };
    const hub = stack.use(
      startRoomhub(
        service.command.map((word) => places.here(word)),
        own,
      ),
    );
    const url = `http://${places.addressOf(name)}:5050`;
    hubs[name] = Object.assign(hub, { url });
    await hub.line("where it listens", (line) => line["url"] === url);
  };
  const run = async (name: string, ...further: string[]) => {
    const { command = [], healthcheck } = compose.services[name] ?? {};
    const [program = "", ...args] = command;
    stack.use(startProgram(program, [...args.map((word) => places.here(word)), ...further]));
    const check = healthcheck?.test.at(-1) ?? "";
    await healthy(check.replace("127.0.0.1", places.addressOf(name)));
  };

  await run("nats");
  for (const name of hubNames(compose)) await start(name);
  await run("balancer", "-db", "-q");
  return { url: `http://${places.addressOf("balancer")}:5050`, hubs, start };
}

function hubNames({ services }: ComposeFile): string[] {
  return Object.keys(services).filter((name) => services[name]?.build !== undefined);
}

function healthy(url: string): Promise<boolean> {
  const isUp = () =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
  return until(`a response at ${url}`, isUp, (ok) => ok);
}

/** What stands for the addresses and the files of the containers. */
class Places {
  readonly #compose: ComposeFile;
  readonly #folder: string;
  /** no other test has these addresses */
  readonly #net = `127.${randomInt(1, 255)}.${randomInt(1, 255)}`;
  /** in a container, and here */
  readonly #files = new Map<string, string>();

  constructor(compose: ComposeFile, folder: string) {
    this.#compose = compose;
    this.#folder = folder;
    for (const service of Object.values(compose.services)) {
      for (const mount of service.volumes ?? []) this.#mount(mount);
      for (const secret of service.secrets ?? []) this.#mountSecret(secret);
    }
  }

  addressOf(name: string): string {
    return `${this.#net}.${Object.keys(this.#compose.services).indexOf(name) + 2}`;
  }

  /** A text of a container with the addresses and paths of this machine. */
  here(text: string): string {
    let changed = text;
    for (const [name, service] of Object.entries(this.#compose.services)) {
      const address = this.addressOf(name);
      for (const [published = "", port = ""] of portsOf(service))
        changed = changed.replaceAll(`${machine}:${published}`, `${address}:${port}`);
      changed = changed.replaceAll(new RegExp(`(?<=[ @/])${name}(?=:\\d)`, "g"), address);
      const fixed = service.networks?.default.ipv4_address;
      // A connection from one loopback address to another comes from the first of all.
      if (fixed !== undefined) changed = changed.replaceAll(fixed, "127.0.0.1");
    }
    for (const [inside, outside] of this.#files) changed = changed.replaceAll(inside, outside);
    return changed;
  }

  /** The secrets as a reader of the guide makes them, and the configurations. */
  async makeFiles(): Promise<void> {
    const guide = readGuides().find(({ path }) => path === "docs/guides/docker-cluster.md");
    const block = guide?.blocks.find(({ text }) => text.startsWith("mkdir -m 700 secrets"));
    const script = `cd "${this.#folder}" && ${block?.text ?? "false"}`;
    const { exitCode, stderr } = await runCommand("sh", ["-ec", script]);
    if (exitCode !== 0) throw new Error(`the secrets were not made: ${stderr}`);
    for (const { file } of Object.values(this.#compose.secrets)) await this.#rewrite(file);
    await mkdir(join(this.#folder, "compose"));
    const nats = await readFile(join(root, "compose/nats-server.conf"), "utf8");
    const own = nats.replaceAll(/"(?:0\.0\.0\.0|127\.0\.0\.1):/g, `"${this.addressOf("nats")}:`);
    const known = isOldNats() ? own.replace(/ *sync_interval.*\n/, "") : own;
    await writeFile(join(this.#folder, "compose/nats-server.conf"), this.here(known));
    const haproxy = await readFile(join(root, "compose/haproxy.cfg"), "utf8");
    const bound = haproxy.replace("bind :", `bind ${this.addressOf("balancer")}:`);
    await writeFile(join(this.#folder, "compose/haproxy.cfg"), this.here(bound));
  }

  async #rewrite(file: string): Promise<void> {
    const path = join(this.#folder, file);
    // Its mode stays.
    await writeFile(path, this.here(await readFile(path, "utf8")));
  }

  #mount(mount: string): void {
    const [source = "", target = ""] = mount.split(":");
    this.#files.set(
      target,
      join(this.#folder, source.startsWith(".") ? source : `volume-${source}`),
    );
  }

  #mountSecret(secret: string | { source: string; target: string }): void {
    const { source, target } =
      typeof secret === "string" ? { source: secret, target: `/run/secrets/${secret}` } : secret;
    const file = this.#compose.secrets[source]?.file ?? "";
    // The configuration of NATS includes it by its name, from the folder where it is itself.
    this.#files.set(target, join(this.#folder, file));
    this.#files.set(`include ${basename(target)}`, `include ../${file.replace("./", "")}`);
  }
}

function portsOf({ ports = [] }: ComposeService): string[][] {
  return ports.map((port) => port.split(":"));
}

/** `sync_interval` is of version 2.10. */
function isOldNats(): boolean {
  const { stdout } = spawnSync("nats-server", ["--version"], { encoding: "utf8" });
  const [, major = "0", minor = "0"] = /v(\d+)\.(\d+)/.exec(stdout) ?? [];
  return Number(major) === 2 && Number(minor) < 10;
}
