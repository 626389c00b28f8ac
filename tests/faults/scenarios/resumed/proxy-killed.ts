import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { freePort } from "../../../support/programs/nginx.ts";
import { until } from "../../../support/waiting.ts";
import type { Child } from "../../child.ts";
import type { ProxyHandlers } from "../../programs/proxy.ts";
import type { Scenario } from "../../scenario.ts";
import type { World } from "../../world.ts";
import { cutUnderLoad, startAgents, startProvider } from "./cut-run.ts";

export const resumedAfterProxyKill: Scenario = {
  id: "F28",
  title: "streams go on when the proxy between agent and hub was killed and is there again",
  needs: ["proc"],
  isQuick: true,
  limitMs: 600_000,
  async run(world) {
    const agents = world.isQuick ? 2 : 5;
    await world.open({ participants: 0, hasLoad: false });
    // Agents behind one proxy are cut together.
    const proxies = [await KilledProxy.start(world, tcpProxy)];
    if (hasNginx()) proxies.push(await KilledProxy.start(world, nginxProxy));
    const proxyOf = (agent: number) => proxies[agent % proxies.length];
    const hubUrls = Array.from({ length: agents }, (_, agent) => proxyOf(agent)?.url ?? "");
    const provider = await startProvider(world, agents);
    await cutUnderLoad(
      world,
      {
        ...{ id: "proxies", agents, lanes: world.isQuick ? 6 : 10 },
        ...{ cuts: world.isQuick ? 4 : 40, alwaysResumes: true },
      },
      {
        provider,
        agents: await startAgents(world, provider, hubUrls),
        targets: proxies.map((proxy) => ({
          agents: hubUrls.flatMap((url, agent) => (url === proxy.url ? [agent] : [])),
          gapMs: [50, world.isQuick ? 1_500 : 6_000] as const,
          cut: () => proxy.kill(),
          mend: () => proxy.launch(),
        })),
      },
    );
  },
};

type Launch = (world: World, port: number) => Promise<Child>;

/** A proxy that comes back at the same port. */
class KilledProxy {
  readonly url: string;
  readonly #world: World;
  readonly #port: number;
  readonly #launch: Launch;
  #child: Child | undefined;

  constructor(world: World, port: number, launch: Launch) {
    this.url = `http://127.0.0.1:${port}`;
    this.#world = world;
    this.#port = port;
    this.#launch = launch;
  }

  static async start(world: World, launch: Launch): Promise<KilledProxy> {
    const proxy = new KilledProxy(world, await freePort(), launch);
    await proxy.launch();
    return proxy;
  }

  /** Resolves when it passes requests on. */
  async launch(): Promise<void> {
    this.#child = await this.#launch(this.#world, this.#port);
    const ask = () => fetch(`${this.url}/health`).then(({ ok }) => ok);
    await until(`the proxy at ${this.url}`, () => ask().catch(() => false), Boolean);
  }

  async kill(): Promise<void> {
    await this.#child?.kill("SIGKILL");
  }
}

async function tcpProxy(world: World, port: number): Promise<Child> {
  const program = await world.children.program<ProxyHandlers>("proxy");
  await program.call("listen", { port: world.hub.port, listensOn: port, seed: 1 });
  return program;
}

/** One process, so that a kill leaves no worker behind. */
async function nginxProxy(world: World, port: number): Promise<Child> {
  const folder = world.path("nginx");
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/nginx.conf`, nginxConfiguration(folder, port, world.hub.url));
  const command = ["nginx", "-p", folder, "-c", "nginx.conf", "-e", "stderr"] as const;
  return world.children.command(command, world.path("nginx.log"));
}

/** As `docs/guides/behind-a-proxy.md` has it. */
function nginxConfiguration(folder: string, port: number, hubUrl: string): string {
  const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  return `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
events {}
http {
access_log off;
${folders.map((name) => `${name}_temp_path ${folder}/${name};`).join("\n")}
map $http_upgrade $connection_upgrade { default upgrade; "" ""; }
server {
  listen 127.0.0.1:${port};
  client_max_body_size 64m;
  location / {
    proxy_pass ${hubUrl};
    proxy_http_version 1.1;
    proxy_set_header Host $http_host;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection $connection_upgrade;
    proxy_buffering off;
    proxy_request_buffering off;
    proxy_read_timeout 31m;
    proxy_send_timeout 31m;
  }
}
}`;
}

function hasNginx(): boolean {
  return spawnSync("nginx", ["-v"]).status === 0;
}
