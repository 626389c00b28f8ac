import type { ParticipantSummary } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { type ClusterHub, startCluster, type TestCluster } from "../support/hub/start-cluster.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { createGate, within } from "../support/waiting.ts";

const quick = { timing: { tickMs: 20 } };

async function readyEverywhere(cluster: TestCluster, code: string): Promise<void> {
  await cluster.everywhere(
    `/rooms/${code}/participants`,
    ({ participants }: { participants: ParticipantSummary[] }) =>
      participants.some(({ connection }) => connection.readiness === "ready"),
  );
  await cluster.linked();
}

async function chat(hub: ClusterHub, code: string, stream = false): Promise<[number, string]> {
  const json = { model: "ada", messages: userSays("a b c d"), stream };
  const response = await hub.fetch(`/rooms/${code}/v1/chat/completions`, { json });
  return [response.status, await response.text()];
}

describe("a hub that stops in order", () => {
  test("gives its participants to another one, and loses no request to them from anywhere", async () => {
    const gate = createGate();
    let chats = 0;
    await using provider = await startFakeProvider({
      behave: ({ path }) => {
        if (!path.endsWith("/completions")) return undefined;
        chats += 1;
        return chats > 1
          ? { kind: "normal" }
          : { kind: "normal", gate: gate.opened, gateAfterChunks: 2 };
      },
    });
    await using cluster = await startCluster(2, { limits: { drainMs: 10_000 } });
    const [one, other] = cluster.hubs as [ClusterHub, ClusterHub];
    const code = await one.createRoom();
    await using ada = await joinTunnel(one, code, { endpoint: provider.url, ...quick });
    await readyEverywhere(cluster, code);
    const json = { model: "ada", messages: userSays("a b c d"), stream: true };
    const running = await one.fetch(`/rooms/${code}/v1/chat/completions`, { json });
    const closing = one.hub.close();
    const statuses: number[] = [];
    // More than the move takes.
    for (let n = 0; n < 40; n++) statuses.push((await chat(other, code, n % 2 === 0))[0]);
    expect(new Set(statuses)).toEqual(new Set([200]));
    gate.open();
    const text = await within(running.text(), "the stream at the hub that stops");
    expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
    expect(text).not.toContain("error");
    expect(await within(closing, "the hub to close")).toEqual({ cut: 0 });
    expect(ada.agent.state).toBe("connected");
  });

  test("without another hub keeps its participants until it has drained", async () => {
    await using provider = await startFakeProvider();
    await using cluster = await startCluster(1);
    const [one] = cluster.hubs as [ClusterHub];
    const code = await one.createRoom();
    await using _ada = await joinTunnel(one, code, { endpoint: provider.url, ...quick });
    expect((await chat(one, code))[0]).toBe(200);
    expect(await within(one.hub.close(), "the hub to close")).toEqual({ cut: 0 });
  });
});
