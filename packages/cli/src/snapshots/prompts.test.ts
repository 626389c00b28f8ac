import type { Room } from "@roomhub/protocol";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Client } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import { defaultHubUrl } from "../rooms/hub-address.ts";
import { promptsAt } from "../terminal/prompts.ts";
import { aRoom, makeWorld, type TestWorld, passing } from "../test-context.fixture.ts";
import { ollamaWith } from "./scenery.fixture.ts";
import { page } from "./page.fixture.ts";
import { onlySearchesEnd } from "./session.fixture.ts";
import { type Key, Keyboard, noKeys, Screen } from "./screen.fixture.ts";

// The library reads the terminal from the process: for symbols when it is loaded, and for colours, which change how it breaks
// lines, at each question.
beforeAll(() => {
  vi.stubEnv("TERM", "xterm-256color");
  vi.stubEnv("FORCE_COLOR", "1");
  vi.stubEnv("NO_COLOR", undefined);
});
afterAll(() => void vi.unstubAllEnvs());

const lan = "http://192.168.1.9:5050";

/** One of a long name, and one of wide characters. */
const severalModels = ollamaWith("llama3.2:3b", "qwen3:30b-a3b-instruct-2507-q4_K_M", "千问");
const oneModel = ollamaWith("llama3.2:3b");

/** A hub on this machine and one on its network, with a room each. */
function twoHubs(): Partial<CliContext> {
  const rooms: Record<string, Room> = {
    [defaultHubUrl]: aRoom({ name: "Ana's room", code: "AAA222", participantCount: 1 }),
    [lan]: aRoom({ id: "2", name: "Labor Zürich", code: "BBB222", passwordProtected: true }),
  };
  return {
    createClient: (hubUrl) => {
      const room = rooms[hubUrl];
      if (room === undefined) throw new Error(`no hub at ${hubUrl}`);
      const listParticipants = async () => [];
      return {
        listRooms: async () => [room],
        getRoom: async () => room,
        listParticipants,
      } as Partial<Client> as Client;
    },
    mdns: {
      announce: async () => async () => {},
      browse: async (_addresses, onHub) => {
        onHub(lan);
        return async () => {};
      },
    },
  };
}

/** `roomhub join` at a terminal: what the screen shows at first, and after each key. */
async function frames(
  args: readonly string[],
  pressed: readonly (Key | (string & {}))[],
  over: Partial<CliContext> = {},
  columns = 80,
): Promise<{ frames: string; world: TestWorld; keyboard: Keyboard; code: number | undefined }> {
  const [screen, keyboard] = [new Screen(columns), new Keyboard()];
  const streams = { stdout: screen, stderr: screen } as unknown as Partial<CliContext>;
  const prompts = promptsAt(keyboard, screen, noKeys);
  const client = { getRoom: async () => aRoom(), listParticipants: async () => [] };
  const world = makeWorld(
    {
      world: passing({ after: onlySearchesEnd }),
      fetch: severalModels,
      ...over,
      ...streams,
      prompts,
    },
    client,
  );
  let code: number | undefined;
  const running = world.run("join", ...args).then((exit) => (code = exit));
  await vi.waitFor(() => expect(screen.shown).toContain("◆"), { interval: 1 });
  let text = page("# at first", screen.shown);
  for (const key of pressed) {
    await keyboard.press(key);
    text += page(`# ${key}`, screen.shown);
  }
  const isFinished = code !== undefined;
  world.stop();
  await running;
  return { frames: text, world, keyboard, code: isFinished ? code : undefined };
}

test("of several models some are chosen with the space bar", async () => {
  const { frames: shown, world } = await frames(["ABC234"], ["↓", "Space", "Enter"]);
  expect(shown).toMatchSnapshot();
  expect(world.participants.map(({ model }) => model)).toEqual([
    "llama3.2:3b",
    "qwen3:30b-a3b-instruct-2507-q4_K_M",
  ]);
});

test("an empty selection is rejected, and the prompt names the key that selects", async () => {
  const { frames: shown, world } = await frames(["ABC234"], ["Space", "Enter", "Space", "Enter"]);
  expect(shown).toMatchSnapshot();
  expect(world.participants.map(({ model }) => model)).toEqual(["llama3.2:3b"]);
});

test("Ctrl+C at a question ends the command, joins nothing and gives the terminal back", async () => {
  const { frames: shown, world, keyboard, code } = await frames(["ABC234"], ["↓", "Ctrl+C"]);
  expect(shown).toMatchSnapshot();
  expect([code, world.participants, keyboard.isRaw]).toEqual([130, [], false]);
});

test("of several rooms, on this machine and on its network, one is chosen", async () => {
  const over = { ...twoHubs(), fetch: oneModel };
  const { frames: shown, world } = await frames([], ["↓", "↑", "Enter"], over);
  expect(shown).toMatchSnapshot();
  expect(world.participants).toMatchObject([{ hubUrl: defaultHubUrl, room: "AAA222" }]);
});

test("the password of a protected room is prompted for, and never shown", async () => {
  const over = { ...twoHubs(), fetch: oneModel };
  const pressed = ["Enter", "swordfish", "Enter"];
  const { frames: shown, world } = await frames([`${lan}/rooms/BBB222`], pressed, over);
  expect(shown.replace("# swordfish", "")).not.toContain("swordfish");
  expect(shown).toMatchSnapshot();
  expect(world.participants).toMatchObject([{ password: "swordfish" }]);
});

test("on a narrow terminal long names are broken and stay readable", async () => {
  const { frames: shown } = await frames(["ABC234"], ["↓", "Enter"], {}, 30);
  expect(shown).toMatchSnapshot();
});
