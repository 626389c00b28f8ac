import { RoomhubClient } from "@roomhub/client";
import { HEARTBEAT_INTERVAL_MS, type LimitName } from "@roomhub/protocol";
import {
  type Child,
  type RoomhubChild,
  type RoomhubCommand,
  roomhubCommand,
} from "../../tests/faults/child.ts";
import type { ParticipantHandlers } from "../../tests/faults/programs/participants.ts";
import { until } from "../../tests/support/waiting.ts";
import type { Target } from "../load/target.ts";
import type { BenchWorld } from "./world.ts";

export interface HubOpening {
  /** limits that a row raises above the defaults */
  limits?: Partial<Record<LimitName, number>> | undefined;
  nodeOptions?: string | undefined;
  env?: Record<string, string> | undefined;
  flags?: readonly string[] | undefined;
  /** what starts it; default: that of this checkout */
  roomhub?: RoomhubCommand | undefined;
}

/** A hub as `roomhub serve` starts it, in a process of its own. */
export interface BenchHub {
  readonly child: RoomhubChild;
  readonly url: string;
  readonly port: number;
  readonly api: RoomhubClient;
}

/** More requests at once than any row has. */
export const manyAtOnce = 16_384;
export const sharedModel = "fake-model";

export async function startHub(world: BenchWorld, opening: HubOpening = {}): Promise<BenchHub> {
  const limits = Object.entries(opening.limits ?? {}).flatMap(([name, value]) => [
    ...["--limit", `${name}=${value}`],
  ]);
  const lookingCloser = process.env["BENCH_HUB_NODE_OPTIONS"];
  const child = world.children.roomhub({
    args: ["serve", "--port", "0", "--log-format", "text", ...limits, ...(opening.flags ?? [])],
    env: {
      NODE_OPTIONS: `${lookingCloser ?? ""} ${opening.nodeOptions ?? ""}`.trim(),
      ...opening.env,
    },
    roomhub: opening.roomhub,
    outputPath: world.newPath("hub.log"),
  });
  // A killed process writes no profile.
  if (lookingCloser !== undefined) world.beforeEnd(() => child.kill("SIGTERM"));
  const line = await child.line("where it listens", (found) => "url" in found);
  const url = String(line["url"]);
  return { child, url, port: Number(line["port"]), api: new RoomhubClient({ hubUrl: url }) };
}

export async function openRoom(hub: BenchHub): Promise<string> {
  return (await hub.api.createRoom({ name: "bench" })).room.code;
}

export interface JoinWish {
  /** each a participant of its own, all in one process */
  count: number;
  prefix: string;
  /** Default: the hub's limit for a participant that declares none, 256. */
  maxConcurrency?: number | undefined;
  isQuiet?: boolean | undefined;
  /** of a model server of its own; default: that of all */
  provider?: string | undefined;
  endpoint?: string | undefined;
  /** what starts it; default: that of this checkout */
  roomhub?: RoomhubCommand | undefined;
}

/**
 * `roomhub join` with its defaults, including its table; its output is written to a file. Resolves when all are connected.
 */
export async function joinByTunnel(
  world: BenchWorld,
  hubUrl: string,
  room: string,
  wish: JoinWish,
): Promise<Child> {
  const { count, prefix, maxConcurrency, isQuiet = false, provider: name, endpoint } = wish;
  const url = endpoint ?? (await world.provider(name)).url;
  const ids = idsOf(prefix, count);
  const models =
    count === 1
      ? ["--id", ...ids, "--model", sharedModel]
      : ids.flatMap((_, index) => ["--model", String(index)]);
  const child = world.children.command(
    [
      ...(wish.roomhub ?? roomhubCommand),
      ...["join", room, "--hub", hubUrl, "--endpoint", url],
      ...["--nickname", prefix, ...models],
      ...(maxConcurrency === undefined ? [] : ["--max-concurrency", String(maxConcurrency)]),
      ...(isQuiet ? ["--quiet"] : []),
    ],
    world.newPath("join.log"),
  );
  const api = new RoomhubClient({ hubUrl });
  const connected = async () => {
    if (child.hasEnded) throw new Error("roomhub join ended");
    const there = await api.listParticipants(room);
    return ids.every((id) => there.some((one) => one.id === id && one.connection.connected));
  };
  await until(`${count} participants to connect`, connected, Boolean, 30_000);
  return child;
}

/** The ids of participants that {@link joinByTunnel} has joined. */
export function idsOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}

/** Idle participants, many in a process: the agent of `roomhub join` without its command line. */
export async function joinCrowd(
  world: BenchWorld,
  hubUrl: string,
  room: string,
  settings: { count: number; prefix: string },
): Promise<void> {
  const provider = await world.provider();
  const program = await world.children.program<ParticipantHandlers>("participants");
  await program.call("join", {
    ...{ hubUrl, room, endpoint: provider.url, model: sharedModel },
    ...settings,
  });
}

export async function joinDirectly(
  hub: BenchHub,
  room: string,
  id: string,
  endpoint: string,
): Promise<void> {
  const config = { maxConcurrency: manyAtOnce };
  await hub.api.join(room, { id, nickname: id, model: sharedModel, endpoint, config });
}

/** Sends a heartbeat every ten seconds, as a participant without a tunnel must. */
export function keepOnline(world: BenchWorld, hub: BenchHub, room: string, id: string): void {
  const timer = setInterval(() => {
    // A heartbeat that is lost on a busy machine is compensated by the next one.
    hub.api.heartbeat(room, id).catch(() => undefined);
  }, HEARTBEAT_INTERVAL_MS);
  world.beforeEnd(() => {
    clearInterval(timer);
    return Promise.resolve();
  });
}

/**
 * @param models - ids, or a model's name
 * @param participant - the one that serves through the tunnel, when its cost is measured too
 */
export function hubTarget(
  name: string,
  hub: BenchHub,
  room: string,
  models: string[],
  participant?: Child,
): Target {
  return {
    ...{ name, models, port: hub.port, pid: hub.child.pid, participantPid: participant?.pid },
    ...{ path: `/rooms/${room}/v1/chat/completions`, headers: {}, isTransparent: true },
  };
}
