import { expect, test } from "vitest";
import type { Client } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import type { ParticipantNotice, StopReason } from "@roomhub/participant";
import {
  aParticipant,
  aRoom,
  idleParticipant,
  type TestWorld,
  passing,
  type After,
} from "../test-context.fixture.ts";
import { ollamaWith } from "./scenery.fixture.ts";
import { atTerminal, everywhere, inPipe, type Scene, onlySearchesEnd } from "./session.fixture.ts";

const client: Partial<Client> = {
  getRoom: async () => aRoom(),
  listParticipants: async () => [],
};

const alice = { kind: "name", id: "alice" } as const;
const request = {
  ...{ path: "/chat/completions", model: "llama3.2:3b", client: alice },
  durationMs: 2400,
};

/** A request that has ended, whose response was not measured. */
function ended(over: Partial<ParticipantNotice & { kind: "request-ended" }>): ParticipantNotice {
  const nothing = { code: undefined, reason: undefined };
  return {
    kind: "request-ended",
    ...request,
    status: 200,
    outcome: "complete",
    ...nothing,
    ...over,
  };
}

const verdict = { kind: "provider-readiness", since: 1_700_000_000_000 } as const;

/** What can happen to a participant, one of each, two seconds apart. */
const aDay: ParticipantNotice[] = [
  { kind: "joined", room: "ABC234", id: "ana-llama3.2-3b", warnings: ["its id is a model too"] },
  { kind: "connected" },
  { kind: "request-started", ...request },
  ended({ ttftMs: 120, outputTokens: 80, tokensPerSecond: 33.3 }),
  ended({ path: "/embeddings", outcome: "failed", status: 404 }),
  ended({
    outcome: "failed",
    code: "provider_disconnected",
    reason: "the model server closed the connection",
  }),
  ended({ outcome: "cancelled", code: "cancelled", reason: "the client disconnected" }),
  ended({ path: "/admin", outcome: "refused", status: undefined, code: "refused" }),
  { ...verdict, readiness: "down", problem: "ECONNREFUSED 127.0.0.1:11434" },
  { ...verdict, readiness: "loading", problem: "is loading its model" },
  { ...verdict, readiness: "needs-credentials", problem: "requires credentials" },
  { ...verdict, readiness: "wrong-model", problem: "now serves qwen3" },
  { ...verdict, readiness: "ready", problem: undefined },
  { kind: "model-changed", from: "llama3.2:3b", to: "qwen3" },
  { kind: "interrupted", streams: 3 },
  { kind: "disconnected", reason: "EHOSTUNREACH", retryInMs: 500 },
  { kind: "resumed", afterMs: 2100, streams: 3 },
  { kind: "disconnected", reason: "the hub is stopping", retryInMs: 250 },
  { kind: "disconnected", reason: "ECONNREFUSED", retryInMs: 500 },
  { kind: "connected" },
  { kind: "fault", error: new Error("cannot read properties of undefined") },
];

interface Story {
  notices?: readonly ParticipantNotice[];
  /** pressed when all of them were reported */
  keys?: string;
  /** why the hub ends it; when absent, it stays until Ctrl+C */
  stopped?: StopReason;
  context?: Partial<CliContext>;
  client?: Partial<Client>;
}

/** A participant that emits its notices when it is started; a new one for each run, because its clock continues. */
function telling({ notices = [], keys = "", stopped, ...over }: Story = {}): () => Scene {
  return () => {
    let nowMs = 0;
    const started = Promise.withResolvers<void>();
    const createParticipant: CliContext["createParticipant"] = async ({ onNotice }) =>
      idleParticipant({
        start: async () => {
          for (const notice of notices) {
            nowMs += 2000;
            onNotice?.(notice);
          }
          started.resolve();
        },
        stopped: stopped === undefined ? new Promise(() => {}) : Promise.resolve(stopped),
      });
    const untilTold = async (world: TestWorld) => {
      await started.promise;
      for (const key of keys) world.press(key);
      if (stopped !== undefined) await new Promise(() => {});
    };
    return {
      context: {
        fetch: ollamaWith("llama3.2:3b", "qwen3"),
        world: passing({ nowMs: () => nowMs, after: onlySearchesEnd }),
        createParticipant,
        ...over.context,
      },
      client: { ...client, ...over.client },
      meanwhile: untilTold,
    };
  };
}

const room = "http://10.0.0.9:5050/rooms/ABC234";

test("join --yes prompts for nothing, shares the first model and leaves on Ctrl+C", async () => {
  const told = telling({ notices: [{ kind: "connected" }] });
  expect(await everywhere(["join", room, "--yes"], told)).toMatchSnapshot();
});

test("join in a pipe does not prompt", async () => {
  const told = telling({ context: { isStdinTTY: false }, notices: [{ kind: "connected" }] });
  expect(await inPipe(["join", room], told)).toMatchSnapshot();
});

test("all that can happen to a participant", async () => {
  expect(await everywhere(["join", room, "--yes"], telling({ notices: aDay }))).toMatchSnapshot();
});

test("all of it on a terminal of 40 columns", async () => {
  const narrow = await atTerminal(["join", room, "--yes"], telling({ notices: aDay }), 40);
  expect(narrow).toMatchSnapshot();
});

test("all of it quietly: only what is wrong, and that it is right again", async () => {
  const told = telling({ notices: aDay });
  expect(await everywhere(["join", room, "--quiet"], told)).toMatchSnapshot();
});

test("all of it as JSON", async () => {
  expect(await inPipe(["join", room, "--json"], telling({ notices: aDay }))).toMatchSnapshot();
});

test("several models have a column of names, and a shared outage is one line", async () => {
  const told = telling({ notices: aDay });
  expect(await atTerminal(["join", room, "--all-models"], told, 100)).toMatchSnapshot();
});

test("p pauses and p resumes", async () => {
  const told = telling({ notices: [{ kind: "connected" }], keys: "pp" });
  expect(await atTerminal(["join", room, "--yes"], told)).toMatchSnapshot();
});

test("a participant that the hub replaces reports the reason", async () => {
  const reason = "Another agent joined with this id and took over.";
  const hint = "Run only one of them, or choose another id.";
  const told = telling({ stopped: { code: "replaced", reason, hint } });
  expect(await everywhere(["join", room, "--yes"], told)).toMatchSnapshot();
});

test("a room with a password and no terminal to prompt at", async () => {
  const protectedRoom = async () => aRoom({ passwordProtected: true });
  const told = telling({ client: { getRoom: protectedRoom } });
  expect(await everywhere(["join", room, "--yes"], told)).toMatchSnapshot();
});

test("an id that is taken gets the machine's name behind it", async () => {
  const listParticipants = async () => [aParticipant({ id: "ana-llama3.2-3b" })];
  expect(
    await inPipe(["join", room, "--yes"], telling({ client: { listParticipants } })),
  ).toMatchSnapshot();
});

test("the network search shows progress, which a terminal erases", async () => {
  const after: After = (ms, callback) => {
    // The test times out before the search ends, if it waits for it; nothing else takes long.
    const handle = ms < 1000 ? setTimeout(callback, 0) : setTimeout(callback, 20);
    if (ms === 1000) clearTimeout(handle);
    return () => clearTimeout(handle);
  };
  const told = telling({
    context: { world: passing({ after }) },
    client: { listRooms: async () => [aRoom()] },
  });
  expect(await everywhere(["join", "--yes"], told)).toMatchSnapshot();
});
