import type { HubEvent } from "@roomhub/protocol";
import type { Client } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import { searchMs } from "../rooms/find-rooms.ts";
import {
  type Captured,
  capture,
  makeWorld,
  type TestWorld,
  passing,
  type After,
} from "../test-context.fixture.ts";
import { pipePage, terminalPage } from "./page.fixture.ts";

/** The world that a command meets. */
export interface Scene {
  context?: Partial<CliContext>;
  client?: Partial<Client>;
  /** Events of the hub, in its stream or in this process; Ctrl+C follows. */
  events?: readonly HubEvent[];
  /** What happens while the command runs; Ctrl+C follows. */
  meanwhile?: (world: TestWorld) => Promise<void>;
}

/** A scene that several runs may share, or what makes a new one for each. */
type Scenes = Scene | (() => Scene);

/** What a person at a terminal reads: both streams, as they come. */
export async function atTerminal(
  args: readonly string[],
  scenes: Scenes = {},
  columns = 80,
  rows = 24,
): Promise<string> {
  const screen = capture(columns);
  const stream = (): Captured => {
    const own = capture(columns, rows);
    const write = own.write.bind(own);
    own.write = (text) => {
      write(text);
      screen.write(text);
    };
    return own;
  };
  const code = await run(args, scenes, { stdout: stream(), stderr: stream() });
  return terminalPage(args, code, columns, screen.text);
}

/** What other programs read: each stream by itself, one that stays empty not at all. */
export async function inPipe(args: readonly string[], scenes: Scenes = {}): Promise<string> {
  const [stdout, stderr] = [capture(), capture()];
  const code = await run(args, scenes, { stdout, stderr });
  return pipePage(args, code, stdout.text, stderr.text);
}

/** Both, one below the other. */
export async function everywhere(args: readonly string[], scenes: Scenes = {}): Promise<string> {
  return `${await atTerminal(args, scenes)}\n${await inPipe(args, scenes)}`;
}

/** Resolves when the command has written it. */
export async function untilSaid(world: TestWorld, text: string): Promise<void> {
  while (!`${world.stdout.text}${world.stderr.text}`.includes(text)) await nextTurn();
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

async function run(
  args: readonly string[],
  scenes: Scenes,
  streams: { stdout: Captured; stderr: Captured },
): Promise<number> {
  const scene = typeof scenes === "function" ? scenes() : scenes;
  const client: Partial<Client> =
    scene.events === undefined ? {} : { events: (_room, options) => tellEvents(options) };
  const world = makeWorld(
    { world: passing({ after: onlySearchesEnd }), ...scene.context, ...streams },
    { ...client, ...scene.client },
  );

  async function* tellEvents(options: Parameters<Client["events"]>[1]): AsyncGenerator<HubEvent> {
    options?.onOpen?.();
    yield* scene.events ?? [];
    world.stop();
  }

  const running = world.run(...args);
  const meanwhile =
    scene.meanwhile ?? (args[0] === "up" && scene.events !== undefined ? tellOwnHub : undefined);
  if (meanwhile !== undefined) {
    await Promise.race([running, meanwhile(world)]);
    world.stop();
  }
  return running;

  /** `up` watches the room once its banner is printed. */
  async function tellOwnHub(): Promise<void> {
    await untilSaid(world, "/rooms/");
    world.tell(...(scene.events ?? []));
    await nextTurn();
  }
}

/** Nothing takes long enough to be reported, and a search of the network ends at once; a turn ends as usual. */
export const onlySearchesEnd: After = (ms, callback) => {
  if (ms !== searchMs && ms !== 0) return () => {};
  const handle = setImmediate(callback);
  return () => clearImmediate(handle);
};
