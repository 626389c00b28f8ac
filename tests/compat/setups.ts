import type { ParticipantConfig } from "@roomhub/protocol";
import { join, type Path } from "../support/hub/joining.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { until } from "../support/waiting.ts";
import type { Target } from "./client.ts";
import { type ReplayServer, startReplayServer } from "./providers/replay-server.ts";
import type { ProviderShape } from "./providers/provider-shape.ts";
import { llamaServer, ollama, vllm, withoutResponses } from "./providers/shapes.ts";
import { watchResponses } from "./responses-watch.ts";

const oldOllama = withoutResponses(ollama);

/** One way from a client to a model. */
export interface Setup {
  /** end of a sentence */
  name: string;
  path: Path;
  shape: ProviderShape;
  /** whether a Responses request is translated for the provider */
  isTranslated: boolean;
  /** its own column of the table, for all cases; left out, each case counts in the case's column */
  column?: string;
  /** columns of the cases that the recorded model cannot show */
  without?: readonly string[];
}

const fromLlama = {
  shape: llamaServer,
  isTranslated: true,
  column: "llama.cpp",
  without: ["image"],
};

export const SETUPS: readonly Setup[] = [
  { name: "tunnel, native", path: "tunnel", shape: vllm, isTranslated: false },
  { name: "tunnel, translated", path: "tunnel", shape: oldOllama, isTranslated: true },
  { name: "direct, native", path: "direct", shape: vllm, isTranslated: false },
  { name: "direct, translated", path: "direct", shape: oldOllama, isTranslated: true },
  { name: "tunnel, llama.cpp", path: "tunnel", ...fromLlama },
  { name: "direct, llama.cpp", path: "direct", ...fromLlama },
];

/** A room with one participant, and what serves it. */
export interface SetupRoom {
  target: Target;
  provider: ReplayServer;
  /** Checks what the hub translated since the last call against the Responses schema. */
  checkAnswers: () => void;
}

/** One hub, and behind it a room for each setup. */
export interface CompatWorld extends AsyncDisposable {
  room(setup: Setup): SetupRoom;
}

/** Where clients find a room: its URL without `/v1`. */
type RoomUrlOf = (code: string) => string | Promise<string>;

/** Puts something in front of a hub, to be closed with the stack. */
type StartFront = (hubUrl: string, stack: AsyncDisposableStack) => RoomUrlOf | Promise<RoomUrlOf>;

export function atHub(hubUrl: string): RoomUrlOf {
  return (code) => `${hubUrl}/rooms/${code}`;
}

export async function startCompatWorld(
  startFront: StartFront = atHub,
  options: Parameters<typeof startTestHub>[0] = {},
): Promise<CompatWorld> {
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(await startTestHub(options));
  const roomUrlOf = await startFront(hub.url, stack);
  const rooms = new Map<Setup, SetupRoom>();
  for (const setup of SETUPS) {
    const { shape, path, isTranslated } = setup;
    const provider = stack.use(await startReplayServer(shape));
    rooms.set(setup, await openRoom(hub, roomUrlOf, { path, isTranslated }, provider, stack));
  }
  const owned = stack.move();
  return {
    room(setup) {
      const room = rooms.get(setup);
      if (room === undefined) throw new Error(`no room for ${setup.name}`);
      return room;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A room whose one participant, `ada`, has this server behind it. */
export async function openRoom(
  hub: TestHub,
  roomUrlOf: RoomUrlOf,
  { path, isTranslated }: Pick<Setup, "path" | "isTranslated">,
  provider: ReplayServer,
  stack: AsyncDisposableStack,
  config: ParticipantConfig = {},
): Promise<SetupRoom> {
  const code = await hub.createRoom();
  const wishes = { endpoint: provider.url, model: provider.shape.model, config };
  const { id } = stack.use(await join(path, hub, code, wishes));
  await until(
    `what ${provider.shape.name} can do`,
    () => hub.client.listParticipants(code),
    ([one]) => one?.capabilities.chatCompletions === "supported",
  );
  const watch = watchResponses();
  const roomUrl = await roomUrlOf(code);
  const target = { roomUrl, baseUrl: `${roomUrl}/v1`, model: id, fetch: watch.fetch };
  return { target, provider, checkAnswers: () => watch.check(isTranslated) };
}
