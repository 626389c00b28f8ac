import { readFile, stat } from "node:fs/promises";
import { join as joinPath } from "node:path";
import { RoomhubClient } from "@roomhub/client";
import { APIError } from "openai";
import { expect, test } from "vitest";
import { recordEvents } from "../support/hub/event-recorder.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { ledgerProblems, settled } from "../support/hub/ledger.ts";
import { openaiAt, userSays } from "../support/clients/openai-client.ts";
import { startHubProcess, startParticipantProcess } from "../support/programs/roomhub-process.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { createGate, until, within } from "../support/waiting.ts";

const adaArgs = (endpoint: string) => [
  ...["--id", "ada", "--nickname", "Ada", "--model", "fake-model", "--endpoint", endpoint],
];

test("a participant killed in mid-stream is an error to the SDK, never a clean end, and comes back", async () => {
  const gate = createGate();
  await using provider = await startFakeProvider({
    behave: ({ json }) =>
      json["stream"] === true
        ? { kind: "normal", words: 20, gate: gate.opened, gateAfterChunks: 8 }
        : undefined,
  });
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const events = await hub.watch(code);
  await using ada = await startParticipantProcess(hub.url, code, adaArgs(provider.url));
  const openai = openaiAt(`${hub.url}/rooms/${code}/v1`);

  const chat = await openai.chat.completions.create({
    model: "*",
    messages: userSays("go on"),
    stream: true,
  });
  const responses = await openai.responses.create({ model: "*", input: "go on", stream: true });
  const outcomes = [drain(chat), drain(responses)];
  // Both clients have read something, and more is to come.
  await Promise.all(outcomes.map(({ begun }) => within(begun, "a first piece")));
  await ada.kill("SIGKILL");

  for (const error of await Promise.all(outcomes.map(({ ended }) => ended))) {
    expect(error).toBeInstanceOf(APIError);
    expect(String(error)).toContain("tunnel");
  }
  await settled(events, 2);
  expect(events.of("llm.error").map(({ data: { stage, code } }) => [stage, code])).toEqual([
    ["tunnel", "tunnel_lost"],
    ["tunnel", "tunnel_lost"],
  ]);
  expect(events.of("llm.complete")).toEqual([]);
  expect(ledgerProblems(events)).toEqual([]);
  expect((await hub.client.health()).status).toBe("ok");
  const refused = await hub.fetch(`/rooms/${code}/v1/chat/completions`, {
    json: { model: "ada", messages: userSays("there?") },
  });
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("5");

  await using _again = await startParticipantProcess(hub.url, code, adaArgs(provider.url));
  const { choices } = await openai.chat.completions.create({
    model: "ada",
    messages: userSays("hi"),
  });
  expect(choices[0]?.message.content).toBe("hi");
});

test("a hub stopped or killed comes back with its rooms, and its participants come back by themselves", async () => {
  await using folder = await temporaryFolder();
  const stateFile = joinPath(folder.path, "rooms.json");
  await using provider = await startFakeProvider();
  let hub = await startHubProcess(["--port", "0", "--state-file", stateFile]);
  try {
    const client = new RoomhubClient({ hubUrl: hub.url });
    const { room } = await client.createRoom({ name: "lab" });
    const openai = openaiAt(client.baseUrl(room.code));
    await using _process = await startParticipantProcess(hub.url, room.code, adaArgs(provider.url));
    await using _agent = await joinTunnel(hub, room.code, {
      id: "alan",
      endpoint: provider.url,
      timing: { backoffMaxMs: 500 },
    });
    await until(
      "the room to be in the file",
      () => readFile(stateFile, "utf8").catch(() => ""),
      (text) => text.includes(room.code),
    );

    // An agent that loses its tunnel twice in 30 s dials later: the second time only the agent with a short pause is
    // waited for.
    for (const [signal, back] of [
      ["SIGKILL", ["ada", "alan"]],
      ["SIGTERM", ["alan"]],
    ] as const) {
      await hub.kill(signal);
      hub = await startHubProcess(["--port", String(hub.port), "--state-file", stateFile]);
      const { participantCount: _count, ...kept } = await client.getRoom(room.code);
      expect(kept).toEqual({
        id: room.id,
        code: room.code,
        name: "lab",
        hostId: room.hostId,
        createdAt: room.createdAt,
        passwordProtected: false,
      });
      await using events = await recordEvents(`${hub.url}/v1/rooms/${room.code}/events`);
      await until(
        `${back.join(" and ")} to be back`,
        () => client.listModels(room.code),
        (models) =>
          back.every((name) =>
            models.some(({ id, service }) => id === name && service.connection.connected),
          ),
      );
      for (const model of back) {
        const { choices } = await openai.chat.completions.create({
          model,
          messages: userSays("back"),
        });
        expect(choices[0]?.message.content).toBe("back");
      }
      await settled(events, back.length);
      expect(ledgerProblems(events)).toEqual([]);
      expect((await stat(stateFile)).mode & 0o777).toBe(0o600);
    }
  } finally {
    await hub.kill("SIGKILL");
  }
});

/** Reads a stream; `ended` is the error it ended with, undefined after a clean end. */
function drain(stream: AsyncIterable<unknown>): { begun: Promise<void>; ended: Promise<unknown> } {
  const first = createGate();
  async function read(): Promise<unknown> {
    try {
      for await (const _piece of stream) first.open();
      return undefined;
    } catch (error) {
      return error;
    }
  }
  return { begun: first.opened, ended: read() };
}
