import { RoomhubClient } from "@roomhub/client";
import { HEARTBEAT_INTERVAL_MS, type LimitName } from "@roomhub/protocol";
import type { RoomhubChild } from "../tests/faults/child.ts";
import type { ParticipantHandlers } from "../tests/faults/programs/participants.ts";
import type { Target } from "./target.ts";
import type { BenchWorld } from "./world.ts";

export interface HubOpening {
  /** what a row needs more of than the defaults allow */
  limits?: Partial<Record<LimitName, number>> | undefined;
  nodeOptions?: string | undefined;
  env?: Record<string, string> | undefined;
}

/** A hub as `roomhub serve` starts it, in a process of its own. */
export interface BenchHub {
  readonly child: RoomhubChild;
  readonly url: string;
  readonly port: number;
  readonly api: RoomhubClient;
}

/** So many requests at once as no row has: participants are not what is measured. */
const maxConcurrency = 16_384;
export const sharedModel = "fake-model";

export async function startHub(world: BenchWorld, opening: HubOpening = {}): Promise<BenchHub> {
  const limits = Object.entries(opening.limits ?? {}).flatMap(([name, value]) => [
    ...["--limit", `${name}=${value}`],
  ]);
  const lookingCloser = process.env["BENCH_HUB_NODE_OPTIONS"];
  const child = world.children.roomhub({
    args: ["serve", "--port", "0", "--log-format", "text", ...limits],
    env: {
      NODE_OPTIONS: `${lookingCloser ?? ""} ${opening.nodeOptions ?? ""}`.trim(),
      ...opening.env,
    },
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

/** Agents as `roomhub join` runs them, all in one process. @returns its pid */
export async function joinByTunnel(
  world: BenchWorld,
  hubUrl: string,
  room: string,
  wish: { count: number; prefix: string },
): Promise<number> {
  const provider = await world.provider();
  const program = await world.children.program<ParticipantHandlers>("participants");
  await program.call("join", {
    ...{ hubUrl, room, endpoint: provider.url, model: sharedModel, maxConcurrency },
    ...wish,
  });
  return program.pid;
}

export async function joinDirectly(
  hub: BenchHub,
  room: string,
  id: string,
  endpoint: string,
): Promise<void> {
  const config = { maxConcurrency };
  await hub.api.join(room, { id, nickname: id, model: sharedModel, endpoint, config });
}

/** Says every ten seconds that it is there, as whoever has no tunnel must. */
export function keepOnline(world: BenchWorld, hub: BenchHub, room: string, id: string): void {
  const timer = setInterval(() => {
    // A beat that is lost on a busy machine is made up for by the next one.
    hub.api.heartbeat(room, id).catch(() => undefined);
  }, HEARTBEAT_INTERVAL_MS);
  world.beforeEnd(() => {
    clearInterval(timer);
    return Promise.resolve();
  });
}

/** @param models - ids, or a model's name */
export function hubTarget(name: string, hub: BenchHub, room: string, models: string[]): Target {
  return {
    ...{ name, models, port: hub.port, pid: hub.child.pid },
    ...{ path: `/rooms/${room}/v1/chat/completions`, headers: {}, isTransparent: true },
  };
}
