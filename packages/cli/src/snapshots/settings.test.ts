import { HubUnreachableError } from "@roomhub/client";
import { describe, expect, test } from "vitest";
import { aRoute } from "../doctor/doctor.fixture.ts";
import { aRoom } from "../test-context.fixture.ts";
import { noSuchRoom } from "./scenery.fixture.ts";
import { everywhere, inPipe, type Scene } from "./session.fixture.ts";

describe("env", () => {
  const scene: Scene = {
    client: { getRoom: async () => aRoom(), explainRoute: async () => aRoute },
  };

  test("without --shell writes for sh, and shows on a terminal how to use it", async () => {
    expect(await everywhere(["env", "ABC234"], scene)).toMatchSnapshot();
  });

  test.each(["sh", "fish", "powershell", "json"])("for %s", async (shell) => {
    const args = ["env", "ABC234", "--shell", shell, "--model", "Ana's \\ llama3"];
    expect(await everywhere(args, scene)).toMatchSnapshot();
  });

  test("as --json", async () => {
    expect(await inPipe(["env", "ABC234", "--json"], scene)).toMatchSnapshot();
  });

  test("of a room that is not there makes a shell that evaluates it fail", async () => {
    const scene: Scene = { client: { getRoom: noSuchRoom } };
    expect(await everywhere(["env", "ABC243"], scene)).toMatchSnapshot();
  });

  test("of an unreachable hub warns and prints the variables", async () => {
    const away = () => Promise.reject(new HubUnreachableError("http://hub:5050", new Error("no")));
    const args = ["env", "http://hub:5050/rooms/ABC234"];
    expect(await everywhere(args, { client: { getRoom: away } })).toMatchSnapshot();
  });

  test("with a model without a participant warns and prints the variables", async () => {
    const refusal = {
      ...{
        status: 404,
        code: "model_not_found",
        message: "No participant has joined room ABC234 yet.",
      },
      hint: "Share a model: roomhub join ABC234",
    };
    const explainRoute = async () => ({ ...aRoute, refusal });
    const empty: Scene = { client: { ...scene.client, explainRoute } };
    expect(await inPipe(["env", "ABC234", "--model", "gpt-9"], empty)).toMatchSnapshot();
  });
});

describe("config", () => {
  const layers: Scene = {
    context: {
      env: { ROOMHUB_PORT: "6060", ROOMHUB_QUEUE_WAIT_MS: "20s" },
      readFile: async () => '{"ownership":"strict","limits":{"rooms":2}}',
    },
  };

  test("with the defaults", async () => {
    expect(await everywhere(["config"])).toMatchSnapshot();
  });

  test("shows the source of each value", async () => {
    expect(await inPipe(["config", "--lan", "--limit", "rooms=7"], layers)).toMatchSnapshot();
  });

  test("--limits lists all of them", async () => {
    expect(await inPipe(["config", "--limits"])).toMatchSnapshot();
  });

  test("--json is for programs", async () => {
    expect(await inPipe(["config", "--json"], layers)).toMatchSnapshot();
  });

  test("of a file with an unknown key", async () => {
    const scene: Scene = { context: { readFile: async () => '{"limits":{"room":2}}' } };
    expect(await everywhere(["config"], scene)).toMatchSnapshot();
  });
});
