import { RoomhubError } from "@roomhub/client";
import { expect, test, vi } from "vitest";
import type { Client } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import { aRoute } from "../doctor/doctor.fixture.ts";
import type { Typed } from "../terminal/message-input.ts";
import {
  answersOf,
  aParticipant,
  aRoom,
  capture,
  makeWorld,
  type TestWorld,
  passing,
  noTimers,
  type After,
} from "../test-context.fixture.ts";

interface Sent {
  model: string;
  messages: { role: string; content: string }[];
  session: string;
}

/** What the room responds to each request, in order. */
type Reply = (signal: AbortSignal) => Response | Promise<Response>;

const client: Partial<Client> = {
  listRooms: async () => [aRoom()],
  getRoom: async () => aRoom(),
  listParticipants: async () => [aParticipant()],
  explainRoute: async () => aRoute,
};

const chunk = (delta: object) => `data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`;
const ending =
  'data: {"choices":[],"usage":{"completion_tokens":80}}\n\ndata: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const headers = {
  ...{ "content-type": "text/event-stream", "x-roomhub-participant": "ana-llama3" },
  "x-roomhub-model": "llama3",
};

function says(text: string, reasoning = ""): Reply {
  const thought = reasoning === "" ? "" : chunk({ reasoning_content: reasoning });
  return () => new Response(thought + chunk({ content: text }) + ending, { headers });
}

function refuses(status: number, error: object): Reply {
  return () => Response.json({ error }, { status });
}

/** Streams a text, and then nothing until it is cancelled. */
function streams(text: string): Reply {
  return (signal) => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(chunk({ content: text })));
        signal.addEventListener("abort", () => controller.error(signal.reason));
      },
    });
    return new Response(body, { headers });
  };
}

const emptyCtrlC: Typed = { kind: "interrupted", wasEmpty: true };

interface Scene {
  replies?: Reply[];
  typed: (string | Typed)[];
  args?: string[];
  one?: string;
  client?: Partial<Client>;
  context?: Partial<CliContext>;
  meanwhile?: (world: TestWorld) => void;
}

/** `roomhub chat` at a terminal of 80 columns without colours; the clock moves by 100 ms at each look. */
async function talk({
  replies = [],
  typed,
  args = ["chat", "ABC234"],
  one,
  meanwhile,
  ...over
}: Scene) {
  const sent: Sent[] = [];
  const questions: string[] = [];
  let nowMs = 0;
  const rest = [...typed];
  const screen = capture(80);
  const answers = one === undefined ? { typed: rest } : { typed: rest, one };
  const world = makeWorld(
    {
      ...{ stdout: screen, stderr: screen, env: { NO_COLOR: "1" } },
      // Nothing takes long enough to be reported.
      world: passing({ after: noTimers, nowMs: () => (nowMs += 100) }),
      prompts: answersOf(questions, answers),
      fetch: async (_url, { body, signal, headers: given }) => {
        const { model, messages } = JSON.parse(body as string) as Sent;
        const session = (given as Record<string, string>)["x-session-id"] ?? "";
        sent.push({ model, messages, session });
        const reply = replies.shift();
        if (reply === undefined || !signal) throw new TypeError("fetch failed");
        return reply(signal);
      },
      ...over.context,
    },
    { ...client, ...over.client },
  );
  const running = world.run(...args);
  meanwhile?.(world);
  const code = await running;
  return { sent, code, questions, world, left: rest.length, shown: screen.text };
}

const prompts = (sent: readonly Sent[]) =>
  sent.map(({ messages }) => messages.map(({ content }) => content));

test("a conversation shows the room and the model, and each answer with who gave it and how fast", async () => {
  const replies = [says("Hello!", "The user greets."), says("Because.")];
  const { shown, code, sent } = await talk({ replies, typed: ["Hi", "Why?"] });
  expect(code).toBe(0);
  expect(shown).toBe(`Room ABC234 (lab) at http://127.0.0.1:5050
Model llama3 from Ana
/help lists the commands, Ctrl+C stops an answer, Ctrl+D leaves
The user greets.
Hello!
— ana-llama3 (llama3), 80 tokens, 400.0 tokens/s, first token 100 ms

Because.
— ana-llama3 (llama3), 80 tokens, 400.0 tokens/s, first token 100 ms

`);
  expect(prompts(sent)).toEqual([["Hi"], ["Hi", "Hello!", "Why?"]]);
  expect(sent[0]?.model).toBe("llama3");
  expect(new Set(sent.map(({ session }) => session)).size).toBe(1);
});

test("Ctrl+C stops the answer and not the chat; what came is kept, and a retry replaces it", async () => {
  const { shown, sent, code } = await talk({
    replies: [streams("Once upon"), says("Short."), says("More.")],
    typed: ["Tell me", "/retry", "Go on"],
    meanwhile: (world) =>
      void vi.waitFor(() => {
        expect(world.stdout.text).toContain("Once upon");
        world.stop("SIGINT");
      }),
  });
  expect(shown).toContain("Once upon\n— ana-llama3 (llama3), stopped; /retry sends it again\n");
  expect([code, ...prompts(sent)]).toEqual([
    0,
    ["Tell me"],
    ["Tell me"],
    ["Tell me", "Short.", "Go on"],
  ]);
});

test.each(["SIGTERM", "SIGHUP"] as const)(
  "%s ends the chat while an answer streams",
  async (signal) => {
    const { code, left } = await talk({
      replies: [streams("Once upon")],
      typed: ["Tell me", "never sent"],
      meanwhile: (world) =>
        void vi.waitFor(() => {
          expect(world.stdout.text).toContain("Once upon");
          world.stop(signal);
        }),
    });
    expect([code, left]).toEqual([0, 1]);
  },
);

test("a second Ctrl+C at an empty prompt leaves, not one that cleared a line", async () => {
  const cleared: Typed = { kind: "interrupted", wasEmpty: false };
  const typed = [cleared, emptyCtrlC, cleared, emptyCtrlC, "/help", emptyCtrlC, emptyCtrlC, "no"];
  const { shown, left, code } = await talk({ typed });
  expect([code, left]).toEqual([0, 1]);
  expect(shown.split("Ctrl+C again, Ctrl+D or /exit leaves")).toHaveLength(4);
});

test("/exit leaves, and a mistyped command is not sent", async () => {
  const { shown, left, sent } = await talk({ typed: ["/exti", "/exit", "never sent"] });
  expect([left, sent]).toEqual([1, []]);
  expect(shown).toContain("/exti is not a command. Did you mean /exit? /help lists them\n");
});

test("an error of the room is shown with its next step, and the chat goes on", async () => {
  const refusal = {
    code: "participant_offline",
    message: "ana-llama3 cannot be reached now: Ana has paused sharing llama3.",
    hint: "List the participants: roomhub participants ABC234",
    participants: [{ id: "ana-llama3", model: "llama3", reason: "Ana has paused sharing llama3" }],
  };
  const { shown, sent, code } = await talk({
    replies: [refuses(503, refusal), says("Hello!")],
    typed: ["Hi", "Still there?"],
  });
  expect(code).toBe(0);
  expect(shown).toContain(
    `error: ${refusal.message}\n→ ${refusal.hint}\n/retry sends it again, /model chooses another model\n`,
  );
  expect(prompts(sent)).toEqual([["Hi"], ["Still there?"]]);
});

test("a hub that is lost in the middle of an answer is a line, and /retry sends the prompt to it again", async () => {
  const lost: Reply = () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(chunk({ content: "Hel" })));
      },
      pull: (controller) =>
        controller.error(new TypeError("terminated", { cause: new Error("other side closed") })),
    });
    return new Response(body, { headers });
  };
  const away: Reply = () => Promise.reject(new TypeError("fetch failed"));
  const { shown, sent } = await talk({
    replies: [lost, away, says("Hello!")],
    typed: ["Hi", "/retry", "/retry"],
  });
  const error = "error: Hub at http://127.0.0.1:5050 is unreachable: ";
  expect(shown).toContain(`Hel\n${error}other side closed\n→ start one: roomhub up`);
  expect(shown).toContain(`${error}no response\n`);
  expect(prompts(sent)).toEqual([["Hi"], ["Hi"], ["Hi"]]);
});

test("a conversation that is too long for the model gets the server's error, with advice", async () => {
  const message =
    "request (9030 tokens) exceeds the available context size (4096 tokens), try increasing it";
  const { shown, sent } = await talk({
    replies: [says("Hello!"), refuses(400, { message, code: 400 }), says("Anew.")],
    typed: ["Hi", "And?", "/clear", "Hi"],
  });
  expect(shown).toContain(
    `error: ${message}\n→ the conversation is too long for the model: /clear forgets it\n`,
  );
  expect(prompts(sent)).toEqual([["Hi"], ["Hi", "Hello!", "And?"], ["Hi"]]);
  const [first, second, third] = sent.map(({ session }) => session);
  expect([second === first, third === first]).toEqual([true, false]);
});

test("a system prompt begins every request until it is removed, also after /clear", async () => {
  const { sent } = await talk({
    replies: [says("a"), says("b"), says("c")],
    typed: ["/system Be brief", "one", "/clear", "two", "/system", "three"],
  });
  expect(prompts(sent)).toEqual([
    ["Be brief", "one"],
    ["Be brief", "two"],
    ["two", "b", "three"],
  ]);
});

test("of several models one is chosen, and /model chooses or names another", async () => {
  const listParticipants = async () => [
    aParticipant(),
    aParticipant({ id: "ben", nickname: "Ben", model: "qwen3:30b" }),
  ];
  const { sent, questions } = await talk({
    replies: [says("a"), says("b"), says("c")],
    typed: ["one", "/model ana-llama3", "two", "/model", "three"],
    one: "qwen3:30b  Ben",
    client: { listParticipants },
  });
  expect(questions[0]).toBe("Select a model | llama3     Ana | qwen3:30b  Ben");
  expect(sent.map(({ model }) => model)).toEqual(["qwen3:30b", "ana-llama3", "qwen3:30b"]);
});

test("a model that the room would refuse is not taken", async () => {
  const refusal = {
    ...{ status: 404, code: "model_not_found", hint: "roomhub models ABC234" },
    message: 'No participant in room ABC234 has the id or serves the model "gpt-9".',
  };
  const explainRoute: Client["explainRoute"] = async (_room, { model }) =>
    model === "gpt-9" ? { ...aRoute, refusal } : aRoute;
  const { sent, shown } = await talk({
    replies: [says("a")],
    typed: ["/model gpt-9", "one"],
    client: { explainRoute },
  });
  expect(shown).toContain(`error: ${refusal.message}\n/model lists the models\n`);
  expect(sent[0]?.model).toBe("llama3");
});

test("--model names the model, and an empty room takes any that joins", async () => {
  const named = await talk({
    replies: [says("a")],
    typed: ["one"],
    args: ["chat", "ABC234", "--model", "m"],
  });
  expect(named.sent[0]?.model).toBe("m");
  const empty = { listParticipants: async () => [] };
  const { sent, shown } = await talk({ replies: [says("a")], typed: ["one"], client: empty });
  expect(sent[0]?.model).toBe("*");
  expect(shown).toContain(
    "! The room has no model to chat with. Share one: roomhub join http://127.0.0.1:5050/rooms/ABC234\n",
  );
});

test("/save writes the conversation once, to the file that is named or to a new one", async () => {
  const { world, shown } = await talk({
    replies: [says("Hello!")],
    typed: ["/save", "Hi", "/save notes.md", "/save notes.md", "/save"],
  });
  const files = [...world.files];
  expect(files.map(([path]) => path)).toEqual([
    "notes.md",
    expect.stringMatching(/^chat-ABC234-\d{4}-\d\d-\d\d-\d{6}\.md$/),
  ]);
  const text = "# Room ABC234 (lab)\n\n## You\n\nHi\n\n## ana-llama3\n\nHello!\n";
  expect(files[0]?.[1]).toBe(text);
  expect(shown).toContain("Nothing was sent yet\n");
  expect(shown).toContain("Saved 1 message and what was answered in notes.md\n");
  expect(shown).toContain("error: notes.md was not saved: it exists\n/save FILE names another\n");
});

test("keys that are pressed while an answer streams are read, and the terminal is given back", async () => {
  const held: string[] = [];
  const onKey = () => {
    held.push("read");
    return () => void held.push("released");
  };
  await talk({ replies: [says("a"), refuses(500, {})], typed: ["one", "two"], context: { onKey } });
  expect(held).toEqual(["read", "released", "read", "released"]);
});

test("without a room it talks in this machine's, and looks for others only when there is none", async () => {
  const browsed: unknown[] = [];
  const mdns: CliContext["mdns"] = {
    announce: async () => async () => {},
    browse: async (_addresses, onHub) => {
      browsed.push(onHub("http://10.0.0.9:5050"));
      return async () => {};
    },
  };
  const args = ["chat"];
  const here = await talk({ typed: [], args, context: { mdns } });
  expect(here.shown).toContain("Room ABC234 (lab) at http://127.0.0.1:5050\n");
  expect(browsed).toEqual([]);
  const after: After = (_ms, callback) => {
    const handle = setImmediate(callback);
    return () => clearImmediate(handle);
  };
  const world = makeWorld({}, client);
  const away = () => Promise.reject(new Error("nothing there"));
  const createClient: CliContext["createClient"] = (hubUrl) => ({
    ...world.context.createClient(hubUrl),
    ...(hubUrl === "http://10.0.0.9:5050" ? {} : { listRooms: away }),
  });
  const there = await talk({
    typed: [],
    args,
    context: { mdns, world: passing({ after }), createClient },
  });
  expect(there.shown).toContain("Room ABC234 (lab) at http://10.0.0.9:5050\n");
});

test("a room that is not there ends the command with the rooms that are", async () => {
  const getRoom = () =>
    Promise.reject(
      new RoomhubError("No room", {
        ...{ status: 404, code: "room_not_found", param: "", hint: undefined },
        ...{ requestId: undefined, retryAfterMs: undefined, participants: undefined },
      }),
    );
  const { code, shown } = await talk({
    ...{ typed: [], client: { getRoom }, args: ["chat", "http://127.0.0.1:5050/rooms/ABC243"] },
  });
  expect(code).toBe(3);
  expect(shown).toBe(
    [
      "error: The hub at http://127.0.0.1:5050 has no room ABC243",
      "→ did you mean:",
      "  roomhub chat http://127.0.0.1:5050/rooms/ABC234  # lab, 2 participants\n",
    ].join("\n"),
  );
});
