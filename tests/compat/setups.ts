import type { ParticipantConfig } from "@roomhub/protocol";
import { join, type Path } from "../support/hub/joining.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import type { Target } from "./client.ts";
import { type ReplayServer, startReplayServer } from "./providers/replay-server.ts";
import { ollama, vllm, withoutResponses } from "./providers/shapes.ts";
import { watchResponses } from "./responses-watch.ts";

/** One way from a client to a model. */
export interface Setup {
  /** end of a sentence */
  name: string;
  path: Path;
  /** whether a Responses request is translated for the provider */
  isTranslated: boolean;
}

export const SETUPS: readonly Setup[] = [
  { name: "tunnel, native", path: "tunnel", isTranslated: false },
  { name: "tunnel, translated", path: "tunnel", isTranslated: true },
  { name: "direct, native", path: "direct", isTranslated: false },
  { name: "direct, translated", path: "direct", isTranslated: true },
];

/** A room with one participant, and what serves it. */
export interface SetupRoom {
  target: Target;
  provider: ReplayServer;
  /** Holds what the hub translated since the last call to the Responses schema. */
  checkAnswers: () => void;
}

/** One hub, and behind it a room for each setup. */
export interface CompatWorld extends AsyncDisposable {
  room(setup: Setup): SetupRoom;
}

/** Puts something before a hub, to be closed with the stack, and tells where clients find it then. */
export type StartFront = (hubUrl: string, stack: AsyncDisposableStack) => Promise<string>;

export async function startCompatWorld(startFront?: StartFront): Promise<CompatWorld> {
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(await startTestHub());
  const url = startFront === undefined ? hub.url : await startFront(hub.url, stack);
  const rooms = new Map<Setup, SetupRoom>();
  for (const setup of SETUPS) {
    const shape = setup.isTranslated ? withoutResponses(ollama) : vllm;
    const provider = stack.use(await startReplayServer(shape));
    rooms.set(setup, await openRoom(hub, url, setup.path, provider, stack));
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
  url: string,
  path: Path,
  provider: ReplayServer,
  stack: AsyncDisposableStack,
  config: ParticipantConfig = {},
): Promise<SetupRoom> {
  const code = await hub.createRoom();
  const wishes = { endpoint: provider.url, model: provider.shape.model, config };
  const { id } = stack.use(await join(path, hub, code, wishes));
  const watch = watchResponses();
  const roomUrl = `${url}/rooms/${code}`;
  const target = { roomUrl, baseUrl: `${roomUrl}/v1`, model: id, fetch: watch.fetch };
  const isTranslated = !provider.shape.surfaces.includes("responses");
  return { target, provider, checkAnswers: () => watch.check(isTranslated) };
}
