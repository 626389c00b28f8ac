import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { recordEvents } from "../support/hub/event-recorder.ts";
import { hasNatsServer, natsSkipped, startNatsServer } from "../support/programs/nats-server.ts";
import { freePort } from "../support/programs/nginx.ts";
import { startHubProcess, startParticipantProcess } from "../support/programs/roomhub-process.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { until } from "../support/waiting.ts";

/** Three hubs as processes, and a room whose home is the first. */
async function startWorld(stack: AsyncDisposableStack) {
  const nats = stack.use(await startNatsServer());
  const { path } = stack.use(await temporaryFolder());
  const secretPath = join(path, "secret");
  await writeFile(secretPath, randomBytes(32).toString("hex"), { mode: 0o600 });
  const start = async () => {
    const cluster = ["--nats", nats.url, "--cluster-secret-file", secretPath];
    const options = ["--port", String(await freePort()), ...cluster];
    return stack.use(await startHubProcess(options));
  };
  const hubs = [await start(), await start(), await start()] as const;
  const created = await post(`${hubs[0].url}/rooms`, { name: "lab" });
  const { room } = (await created.json()) as { room: { code: string } };
  const provider = stack.use(await startFakeProvider());
  const options = ["--endpoint", provider.url, "--model", "fake-model", "--id", "ada", "--yes"];
  const agent = stack.use(await startParticipantProcess(hubs[0].url, room.code, options));
  return { nats, hubs, code: room.code, agent, provider };
}

function post(url: string, body: object): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
}

async function chat(hubUrl: string, code: string): Promise<[number, string]> {
  const body = { model: "ada", messages: [{ role: "user", content: "Hello" }] };
  try {
    const response = await post(`${hubUrl}/rooms/${code}/v1/chat/completions`, body);
    return [response.status, await response.text()];
  } catch (error) {
    return [0, String(error)];
  }
}

describe.skipIf(!hasNatsServer)(`a home that is killed${natsSkipped}`, () => {
  test("is followed by another within seconds, and its participant is never offline there", async () => {
    await using stack = new AsyncDisposableStack();
    const { hubs, code } = await startWorld(stack);
    const [home, other, third] = hubs;
    for (const hub of hubs)
      await until(
        "a response",
        () => chat(hub.url, code),
        ([status]) => status === 200,
      );
    await home.kill("SIGKILL");
    const statuses: number[] = [];
    await until(
      "the next response",
      async () => {
        const [status] = await chat(other.url, code);
        statuses.push(status);
        return status;
      },
      (status) => status === 200,
      20_000,
    );
    // What had left for the home is lost; what comes later waits for the next one, and for the agent.
    expect(statuses.filter((status) => status !== 200 && status !== 502)).toEqual([]);
    expect(statuses.length).toBeLessThanOrEqual(2);
    const events = await recordEvents(`${third.url}/v1/rooms/${code}/events`);
    expect((await chat(third.url, code))[0]).toBe(200);
    await events.waitFor("its end", () => events.of("llm.complete").length === 1);
    expect(events.of("participant.offline")).toEqual([]);
    events.close();
  });
});
