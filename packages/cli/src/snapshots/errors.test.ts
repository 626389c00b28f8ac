import { HubUnreachableError } from "@roomhub/client";
import { describe, expect, test } from "vitest";
import type { CliContext } from "../context.ts";
import { aRoom, idleParticipant } from "../test-context.fixture.ts";
import { noSuchRoom, ollamaWith } from "./scenery.fixture.ts";
import { atTerminal, everywhere, inPipe, type Scene } from "./session.fixture.ts";

describe("an invalid command line", () => {
  test.each([
    ["an unknown command", ["modles", "ABC234"]],
    ["an unknown command of a family", ["room", "lst"]],
    ["a family without a command", ["room"]],
    ["an unknown option", ["room", "list", "--jsn"]],
    ["a missing argument", ["participants"]],
    ["an option that is an argument", ["models", "--room", "ABC234"]],
    ["a question without quotes", ["chat", "what", "is", "up"]],
    ["one argument too many", ["room", "show", "ABC234", "XYZ789"]],
    ["a port that is none", ["serve", "--port", "70000"]],
    ["a choice that is none", ["env", "ABC234", "--shell", "zsh"]],
    ["two options that exclude each other", ["up", "--password", "x", "--password-env", "Y"]],
    ["a limit that is none", ["serve", "--limit", "room=5"]],
    ["a hub URL that is none", ["health", "--hub", "ftp://x"]],
    ["a room that is none", ["room", "show", "Ana's lab"]],
    ["an id that cannot be one", ["join", "ABC234", "--id", "any"]],
    ["options that contradict each other", ["join", "--all-models", "--model", "x"]],
  ])("%s", async (_name, args) => {
    expect(await everywhere(args)).toMatchSnapshot();
  });
});

describe("a variable", () => {
  test.each<[string, CliContext["env"]]>([
    ["that is mistyped", { ROOMHUB_QUEUE_WAIT: "5s" }],
    ["that is like no other", { ROOMHUB_NONSENSE: "1" }],
    ["of a value that is none", { ROOMHUB_PORT: "many" }],
  ])("%s", async (_name, env) => {
    expect(await everywhere(["config"], { context: { env } })).toMatchSnapshot();
  });
});

const ollama = ollamaWith("llama3.2:3b");

describe("a hub", () => {
  const away = () => {
    const cause = Object.assign(new Error("connect ECONNREFUSED 10.0.0.9:5050"), {
      code: "ECONNREFUSED",
    });
    return Promise.reject(new HubUnreachableError("http://10.0.0.9:5050", cause));
  };

  test("that is unreachable", async () => {
    const scene: Scene = { client: { getRoom: away, listRooms: away } };
    const invite = "http://10.0.0.9:5050/rooms/ABC234";
    expect(await everywhere(["room", "show", invite], scene)).toMatchSnapshot();
    const joining: Scene = { ...scene, context: { fetch: ollama } };
    expect(await everywhere(["join", invite, "--yes"], joining)).toMatchSnapshot();
  });

  test("that is looked for and nowhere to be found", async () => {
    const scene: Scene = { client: { listRooms: away }, context: { fetch: ollama } };
    expect(await everywhere(["join", "--yes"], scene)).toMatchSnapshot();
  });

  test("that has several rooms, without a terminal to prompt at", async () => {
    const rooms = [aRoom(), aRoom({ id: "2", code: "XYZ789", name: "kitchen" })];
    const scene: Scene = { client: { listRooms: async () => rooms }, context: { fetch: ollama } };
    expect(await everywhere(["join", "--yes"], scene)).toMatchSnapshot();
  });

  test("that has no such room", async () => {
    const scene: Scene = {
      client: { getRoom: noSuchRoom, listRooms: async () => [aRoom()] },
      context: { fetch: ollama },
    };
    expect(await everywhere(["room", "show", "ABC243"], scene)).toMatchSnapshot();
    const invite = "http://10.0.0.9:5050/rooms/ABC243";
    expect(await everywhere(["join", invite, "--yes"], scene)).toMatchSnapshot();
  });

  test("whose room has another password", async () => {
    const createParticipant: CliContext["createParticipant"] = async () =>
      idleParticipant({
        start: () => Promise.reject(new Error("refused")),
        stopped: Promise.resolve({
          code: "invalid_password",
          reason:
            "The password for room ABC234 is missing or wrong. (Ask the room's host, then: ROOMHUB_PASSWORD=… roomhub join ABC234)",
        }),
      });
    const room = aRoom({ passwordProtected: true });
    const scene: Scene = {
      client: { getRoom: async () => room, listParticipants: async () => [] },
      context: { fetch: ollama, createParticipant, env: { ROOMHUB_PASSWORD: "tuna" } },
    };
    expect(await everywhere(["join", "ABC234", "--yes"], scene)).toMatchSnapshot();
  });
});

describe("a model", () => {
  const scene: Scene = { context: { fetch: ollama } };

  test("that is nearly one of those that are there", async () => {
    expect(await everywhere(["join", "--model", "llama3.2:1b"], scene)).toMatchSnapshot();
  });

  test("that is like none of those that are there", async () => {
    expect(await inPipe(["join", "--model", "gpt-9"], scene)).toMatchSnapshot();
  });

  test("where no model server runs", async () => {
    expect(await everywhere(["join"])).toMatchSnapshot();
    expect(await inPipe(["up", "--model", "llama3"])).toMatchSnapshot();
  });

  test("of a server that has none yet", async () => {
    const scene: Scene = { context: { fetch: ollamaWith() } };
    expect(await inPipe(["join"], scene)).toMatchSnapshot();
  });

  test("of an endpoint that does not respond", async () => {
    expect(await inPipe(["join", "--endpoint", "http://gpu:8000"])).toMatchSnapshot();
  });
});

describe("a port", () => {
  /** A hub that cannot listen. */
  function failing(code: string): Partial<CliContext> {
    const error = Object.assign(new Error(`listen ${code}`), { code, syscall: "listen" });
    const listen = () => Promise.reject(error);
    const close = async () => ({ cut: 0 });
    return {
      createHub: async () => ({
        listen,
        watch: () => () => {},
        prepareHandout: async () => undefined,
        replaceCertificate: () => undefined,
        close,
      }),
    };
  }

  function taken(status: "ok" | "draining"): Scene {
    const timestamp = "2026-01-02T03:04:05.000Z";
    const health = async () => ({ status, version: "1.2.0", uptimeSeconds: 1, timestamp });
    return { context: failing("EADDRINUSE"), client: { health } };
  }

  test("on which a hub listens already", async () => {
    expect(await everywhere(["serve"], taken("ok"))).toMatchSnapshot();
  });

  test("on which a hub still stops", async () => {
    expect(await inPipe(["serve"], taken("draining"))).toMatchSnapshot();
  });

  test("on which something else listens", async () => {
    const scene: Scene = { context: failing("EADDRINUSE") };
    expect(await everywhere(["up"], scene)).toMatchSnapshot();
  });

  test("that only the administrator may open", async () => {
    const scene: Scene = { context: failing("EACCES") };
    expect(await inPipe(["serve", "--port", "80"], scene)).toMatchSnapshot();
  });

  test("at an address that is not of this machine", async () => {
    const scene: Scene = { context: failing("EADDRNOTAVAIL") };
    expect(await inPipe(["serve", "--host", "10.9.9.9"], scene)).toMatchSnapshot();
  });
});

describe("a bug", () => {
  const cause = new TypeError("Cannot read properties of undefined (reading 'id')");
  const scene: Scene = {
    client: { getRoom: () => Promise.reject(new Error("no such luck", { cause })) },
  };

  test("is its message, without a stack trace", async () => {
    const told = await everywhere(["room", "show", "ABC234"], scene);
    expect(told).not.toContain("    at ");
    expect(told).toMatchSnapshot();
  });

  test("shows stack traces with --verbose", async () => {
    expect(await everywhere(["--verbose", "room", "show", "ABC234"], scene)).toMatchSnapshot();
  });

  test("shows stack traces with ROOMHUB_DEBUG", async () => {
    const debugging: Scene = { ...scene, context: { env: { ROOMHUB_DEBUG: "1" } } };
    expect(await inPipe(["room", "show", "ABC234"], debugging)).toMatchSnapshot();
  });
});

test("without colours an error is the same text", async () => {
  const scene: Scene = { client: { getRoom: noSuchRoom }, context: { env: { NO_COLOR: "1" } } };
  expect(await atTerminal(["room", "show", "ABC243"], scene)).toMatchSnapshot();
});
