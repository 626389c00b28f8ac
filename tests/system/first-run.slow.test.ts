import { RoomhubClient } from "@roomhub/client";
import { expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { hearsMulticast } from "../support/programs/multicast.ts";
import { openaiAt, userSays } from "../support/clients/openai-client.ts";
import { type RoomhubProcess, startRoomhub } from "../support/programs/roomhub-process.ts";

const isHeard = await hearsMulticast();

test.skipIf(!isHeard)(
  "a friend who knows the room's code alone finds the host over mDNS, and serves a request there",
  async () => {
    await using provider = await startFakeProvider();
    const model = ["--endpoint", provider.url, "--model", "fake-model"];
    await using host = startRoomhub(["up", "--lan", "--port", "0", ...model]);
    const { hubUrl, room } = await whereItIs(host);
    await using friend = startRoomhub(["join", room, "--nickname", "Bea", ...model], {
      ROOMHUB_URL: "",
    });
    const { participantId } = await friend.line(
      "that it is connected",
      ({ kind }) => kind === "connected",
    );
    expect(participantId).toBe("bea-fake-model");

    const openai = openaiAt(`${hubUrl}/rooms/${room}/v1`);
    const { choices } = await openai.chat.completions.create({
      model: "bea-fake-model",
      messages: userSays("over the network"),
    });
    expect(choices[0]?.message.content).toBe("over the network");
    await friend.line("its request", ({ kind }) => kind === "request-ended");
    await host.line(
      "the request as the hub saw it",
      (line) => line["type"] === "llm.complete" && line["participantId"] === "bea-fake-model",
    );

    await friend.kill("SIGTERM");
    const client = new RoomhubClient({ hubUrl: hubUrl });
    const left = await client.listParticipants(room);
    expect(left.map(({ id }) => id)).not.toContain("bea-fake-model");
  },
);

test("several models of one machine are shared by one process", async () => {
  await using provider = await startFakeProvider();
  await using host = startRoomhub([
    ...["up", "--port", "0", "--no-mdns"],
    ...["--endpoint", provider.url, "--model", "fake-model"],
  ]);
  const { hubUrl, room } = await whereItIs(host);
  const invite = `${hubUrl}/rooms/${room}`;
  await using friend = startRoomhub([
    ...["join", invite, "--nickname", "Bea", "--endpoint", provider.url],
    ...["--model", "one", "--model", "two"],
  ]);
  for (const id of ["bea-one", "bea-two"]) {
    await friend.line(
      `that ${id} is connected`,
      ({ kind, participantId }) => kind === "connected" && participantId === id,
    );
  }
  const openai = openaiAt(`${invite}/v1`);
  for (const model of ["one", "two"]) {
    const { choices } = await openai.chat.completions.create({ model, messages: userSays(model) });
    expect(choices[0]?.message.content).toBe(model);
  }
});

test("a host whose public URL leads nowhere from its machine is ready at once, its own model included", async () => {
  await using provider = await startFakeProvider();
  await using host = startRoomhub([
    ...["up", "--port", "0", "--no-mdns", "--public-url", "https://hub.invalid/lab"],
    ...["--endpoint", provider.url, "--model", "fake-model"],
  ]);
  const { hubUrl, room } = await whereItIs(host);
  const openai = openaiAt(`${hubUrl}/rooms/${room}/v1`);
  const { choices } = await openai.chat.completions.create({
    model: "fake-model",
    messages: userSays("from inside"),
  });
  expect(choices[0]?.message.content).toBe("from inside");
});

async function whereItIs(host: RoomhubProcess): Promise<{ hubUrl: string; room: string }> {
  const ready = await host.line("that it is ready", (line) => "hubUrl" in line);
  return { hubUrl: String(ready["hubUrl"]), room: String(ready["room"]) };
}
