import { expect, test } from "vitest";
import { dialTunnel } from "../support/hub/hand-agent.ts";
import { frame } from "../support/hub/limits-lab.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { until, within } from "../support/waiting.ts";

const mib = 1024 * 1024;
const count = 40;

test("an agent that announces the widest window and does not read is full, and requests wait until it does", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const { tunnel, participantToken = "" } = await hub.client.join(code, {
    ...{ id: "ada", nickname: "Ada", model: "fake-model", endpoint: "http://127.0.0.1:9" },
    ...{ transport: "tunnel", config: { maxConcurrency: count } },
  });
  const socket = dialTunnel(tunnel.url, participantToken);
  const greeted = new Promise((resolve) => socket.once("message", resolve));
  const resume = { bootId: "boot" };
  const hello = { version: 1, maxStreams: count, windowBytes: 0x7fff_ffff, resume };
  socket.on("open", () => socket.send(frame(1, JSON.stringify(hello))));
  await within(greeted, "the hub's HELLO");
  socket.pause();

  const leave = new AbortController();
  const content = "x".repeat(mib);
  const answers = Array.from({ length: count }, () =>
    hub
      .fetch(`/rooms/${code}/v1/chat/completions`, {
        json: { model: "ada", messages: userSays(content) },
        signal: leave.signal,
      })
      .catch(() => undefined),
  );
  const load = async () => (await hub.client.getParticipant(code, "ada")).load;
  const { active } = await until(
    "the rest to wait",
    load,
    ({ active: running, queued }) => queued > 0 && running + queued === count,
  );
  // 4 MiB here, and what the system buffers.
  expect(active).toBeLessThan(30);
  const explained = await hub.fetch(`/rooms/${code}/route?model=ada`);
  const { participants } = (await explained.json()) as { participants: object[] };
  expect(participants[0]).toMatchObject({
    verdict: "full",
    reason: expect.stringContaining("its agent reads too slowly") as string,
  });

  socket.resume();
  await until("all to be sent", load, ({ active: running }) => running === count);
  leave.abort();
  socket.terminate();
  await Promise.all(answers);
});
