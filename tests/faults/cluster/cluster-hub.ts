import { RoomhubClient } from "@roomhub/client";
import { followEvents } from "../../support/hub/event-recorder.ts";
import type { Children, RoomhubChild } from "../child.ts";
import type { RequestEnd, StreamRun } from "./cluster-ledger.ts";
import type { Machine } from "./network.ts";

export const hubPort = 5050;

const endLine = /"\[service\] (llm\.complete|llm\.error) .*?requestId=\\"(\w+)\\"/g;

export interface HubLaunch {
  natsUrl: string;
  secretPath: string;
  env: Record<string, string>;
  path: (name: string) => string;
}

/** `roomhub serve --nats` on a machine of its own, and the event stream of each of its lives. */
export class ClusterHub {
  readonly name: string;
  readonly url: string;
  /** `host:port` */
  readonly host: string;
  readonly api: RoomhubClient;
  /** the last one is that of the process that runs now */
  readonly runs: StreamRun[] = [];
  readonly #children: Children;
  readonly #machine: Machine;
  readonly #launch: HubLaunch;
  readonly #lives: RoomhubChild[] = [];

  constructor(children: Children, machine: Machine, launch: HubLaunch) {
    this.#children = children;
    this.#machine = machine;
    this.#launch = launch;
    this.name = machine.name;
    this.host = `${machine.address}:${hubPort}`;
    this.url = `http://${this.host}`;
    this.api = new RoomhubClient({ hubUrl: this.url, timeoutMs: 10_000 });
  }

  get process(): RoomhubChild {
    const last = this.#lives.at(-1);
    if (last === undefined) throw new Error(`hub ${this.name} was not started`);
    return last;
  }

  get isRunning(): boolean {
    return this.#lives.at(-1)?.hasEnded === false;
  }

  /** Resolves when it listens; also again, as another life of the same hub. */
  async start(): Promise<void> {
    const { natsUrl, secretPath, env, path } = this.#launch;
    const life = this.#children.roomhub({
      args: [
        ...["serve", "--host", "0.0.0.0", "--port", String(hubPort), "--advertise", this.url],
        ...["--nats", natsUrl, "--cluster-secret-file", secretPath],
      ],
      // The providers report no limit, and faults strike many streams of one participant.
      env: { ROOMHUB_ASSUMED_CONCURRENCY: "256", ...env },
      prefix: this.#machine.prefix,
      outputPath: path(`${this.name}-${this.#lives.length + 1}.log`),
    });
    this.#lives.push(life);
    await life.line("where it listens", (found) => "url" in found, 60_000);
  }

  /** Resolves when its event stream is read. */
  async record(code: string): Promise<void> {
    const events = await followEvents(`${this.url}/v1/rooms/${code}/events`);
    this.runs.push({ hub: this.name, origin: this.url, events, wasKilled: false });
  }

  /** Nothing of what it does is finished. */
  async kill(): Promise<void> {
    const run = this.runs.at(-1);
    if (run !== undefined) run.wasKilled = true;
    await this.process.kill("SIGKILL");
    run?.events.close();
  }

  /** Stops it in order, and resolves with its exit code. */
  async stop(): Promise<number | null> {
    this.process.signal("SIGTERM");
    const { code } = await this.process.exited;
    this.runs.at(-1)?.events.close();
    return code;
  }

  /** The ends of requests in the log of all its lives: one line for each that it emitted, whoever watched. */
  loggedEnds(): RequestEnd[] {
    return this.#lives.flatMap((life) =>
      [...life.output().matchAll(endLine)].map(([, kind = "", requestId = ""]) => {
        return { hub: this.name, kind, requestId };
      }),
    );
  }

  /** What it lists of another hub; undefined when it does not know it, or has buried it. */
  async seen(other: ClusterHub) {
    return (await this.api.listHubs()).find(({ url }) => url === other.url);
  }

  /** `ok`, `degraded` or `draining`; undefined without a response. */
  async health(): Promise<string | undefined> {
    try {
      return ((await (await fetch(`${this.url}/health`)).json()) as { status: string }).status;
    } catch {
      return undefined;
    }
  }
}
