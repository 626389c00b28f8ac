import type { ParticipantSummary } from "@roomhub/protocol";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { joinDirect } from "../support/hub/joining.ts";
import { type ClusterHub, startCluster } from "../support/hub/start-cluster.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

test("a machine with one slot runs one request at a time, whichever hubs own its participants", async () => {
  let [running, most] = [0, 0];
  const held = Promise.withResolvers<void>();
  await using provider = await startFakeProvider({
    behave: ({ path }) => {
      if (!path.includes("completions")) return undefined;
      most = Math.max(most, ++running);
      const gate = held.promise.then(() => pause(10)).then(() => void running--);
      return { kind: "normal", gate };
    },
  });
  await using cluster = await startCluster(3);
  const [one, other, third] = cluster.hubs as [ClusterHub, ClusterHub, ClusterHub];
  const code = await one.createRoom();
  const wishes = {
    ...{ endpoint: provider.url, machineSecret: "a".repeat(43) },
    config: { maxConcurrency: 1 },
  };
  await joinDirect(one, code, { ...wishes, id: "ada" });
  await joinDirect(other, code, { ...wishes, id: "ben", model: "another-model" });
  const listed = (isWanted: (each: ParticipantSummary) => boolean) =>
    cluster.everywhere(
      `/rooms/${code}/participants`,
      ({ participants }: { participants: ParticipantSummary[] }) =>
        participants.filter(isWanted).length === 2,
    );
  await listed(({ connection, load }) => connection.connected && load.machine?.limit === 1);
  await cluster.linked();
  const ask = async (hub: ClusterHub, model: string) => {
    const json = { model, messages: [{ role: "user", content: "hello" }] };
    const response = await hub.fetch(`/rooms/${code}/v1/chat/completions`, { json });
    return response.status;
  };
  const first = ask(third, "ada");
  await listed(({ load }) => load.machine?.active === 1);
  const sent = [first];
  for (const hub of [one, other, third, one, other, third]) {
    for (const id of ["ada", "ben"]) sent.push(ask(hub, id));
  }
  const waiting = [one, other].map((hub, index) => async () => {
    const { participants } = (await (await hub.fetch(`/rooms/${code}/participants`)).json()) as {
      participants: ParticipantSummary[];
    };
    return participants[index]?.load.queued ?? 0;
  });
  for (const queued of waiting) await expect.poll(queued).toBeGreaterThanOrEqual(3);
  held.resolve();
  expect(new Set(await Promise.all(sent))).toEqual(new Set([200]));
  expect(most).toBe(1);
  await listed(({ load }) => load.machine?.active === 0);
});
