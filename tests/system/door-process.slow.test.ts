import OpenAI from "openai";
import { expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { startMiddle } from "../support/hub/middle.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { pinOf, testCertificate } from "../support/hub/test-certificate.ts";
import { startRoomhub } from "../support/programs/roomhub-process.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

const pair = testCertificate({ names: ["roomhub"] });
const pin = pinOf(pair);

/** A sealed hub with a model, and a user whose folders are new. */
async function startUser() {
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(await startTestHub({ tls: pair }));
  const middle = stack.use(await startMiddle(hub.port));
  const provider = stack.use(await startFakeProvider());
  const code = await hub.createRoom();
  stack.use(await joinTunnel(hub, code, { endpoint: provider.url }));
  const { path } = stack.use(await temporaryFolder());
  const owned = stack.move();
  return {
    ...{ middle, code },
    invite: `http://127.0.0.1:${middle.port}/rooms/${code}#pin=${pin}`,
    env: { XDG_RUNTIME_DIR: path, XDG_STATE_HOME: path, ROOMHUB_URL: "" },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

test("a door that was killed leaves a record that counts for nothing; env finds the one that runs, by the code alone", async () => {
  await using user = await startUser();
  const { invite, env, code, middle } = user;
  const open = () => startRoomhub(["open", invite, "--port", "0"], env);
  const isOpen = (line: Record<string, unknown>) => "baseUrl" in line;
  const variablesOf = async () => {
    await using command = startRoomhub(["env", code], env);
    return await command.line("the variables", (line) => "OPENAI_BASE_URL" in line);
  };
  await using killed = open();
  const first = await killed.line("where it is", isOpen);
  await using second = open();
  await expect(second.line("where it is", isOpen)).rejects.toThrow(
    `is open already at ${String(first["baseUrl"])}`,
  );
  await killed.kill("SIGKILL");
  await using door = open();
  const { baseUrl, apiKey } = await door.line("where it is", isOpen);
  expect(apiKey).toBe(first["apiKey"]);
  const variables = await variablesOf();
  expect(variables).toMatchObject({ OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey });

  const openai = new OpenAI({ baseURL: String(baseUrl), apiKey: String(apiKey), maxRetries: 0 });
  const messages = userSays("canary to be or not");
  const { choices } = await openai.chat.completions.create({ model: "*", messages });
  expect(choices[0]?.message.content).toBe("canary to be or not");
  const served = await door.line("the request", (line) => "request" in line);
  expect(served).toMatchObject({ request: { path: "/v1/chat/completions", status: 200 } });
  expect(Buffer.concat(middle.wire).toString("latin1")).not.toMatch(/canary|rhd_|HTTP\/1/);
  expect(door.output).not.toContain("canary");

  middle.mode = "attacking";
  middle.cut();
  const refused = openai.chat.completions.create({ model: "*", messages });
  await expect(refused).rejects.toThrow("another key than the pin of its invite");
  expect(middle.read).toEqual([]);
  await door.kill("SIGTERM");
  middle.mode = "honest";
  await using none = startRoomhub(["env", code, "--hub", invite], env);
  await expect(none.line("the variables", isOpen)).rejects.toThrow("open a door for them");
});
