import { connect } from "node:net";
import { expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { startRoomhub } from "../support/programs/roomhub-process.ts";
import { until } from "../support/waiting.ts";
import { describeReal } from "./binary.ts";
import { startLlamaServer } from "./llama-server.ts";

/** Where `up` looks besides the address of this test's server. */
const otherPorts = [1234, 8000, 8080, 9931];

describeReal("up without a model server", () => {
  test("shows the demo until a server is there, and then shares that instead", async ({ skip }) => {
    const taken = await takenPorts();
    skip(taken.length > 0, `something listens on port ${taken.join(", ")}`);
    const llama = await startLlamaServer({ alias: "tiny" });
    const { port } = llama;
    await llama[Symbol.asyncDispose]();
    await using up = startRoomhub(["up", "--port", "0"], { OLLAMA_HOST: `127.0.0.1:${port}` });
    const opened = await up.line("what it shares", (line) => line["isDemo"] === true);
    const baseUrl = String(opened["baseUrl"]);

    await using _llama = await startLlamaServer({ alias: "tiny", port });

    await up.line("that it shares the server", (line) => line["isDemo"] === false);
    await until(
      "the demo to be taken back",
      () => modelsAt(baseUrl),
      (models) => models.length === 1 && models[0] === "tiny",
      30_000,
    );
    const answer = await fetch(`${baseUrl}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ model: "*", messages: userSays("hi"), max_tokens: 5 }),
    });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ model: "tiny", timings: expect.anything() });
  });
});

async function modelsAt(baseUrl: string): Promise<string[]> {
  const answer = await fetch(`${baseUrl}/models`);
  const { data } = (await answer.json()) as { data: { service: { model: string } }[] };
  return data.map(({ service }) => service.model);
}

async function takenPorts(): Promise<number[]> {
  const isTaken = await Promise.all(otherPorts.map(isListening));
  return otherPorts.filter((_, index) => isTaken[index]);
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
