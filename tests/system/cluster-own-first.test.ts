import type { ParticipantSummary } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { joinDirect } from "../support/hub/joining.ts";
import { type ClusterHub, startCluster } from "../support/hub/start-cluster.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

const forwarded = { "x-forwarded-for": "203.0.113.9" };

test.each(["its client key", "its address on the same computer"])(
  "a request that shows its owner by %s goes first also from another hub",
  async (proof) => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    await using provider = await startFakeProvider({ behave: () => ({ kind: "normal", gate }) });
    await using cluster = await startCluster(2);
    const [owner, entry] = cluster.hubs as [ClusterHub, ClusterHub];
    const code = await owner.createRoom();
    const { answer } = await joinDirect(owner, code, {
      ...{ endpoint: provider.url, ownFirst: true, config: { maxConcurrency: 1 } },
    });
    await cluster.everywhere(
      `/rooms/${code}/participants`,
      ({ participants }: { participants: ParticipantSummary[] }) =>
        participants[0]?.connection.readiness === "ready",
    );
    await cluster.linked();
    const inUse = async () => {
      const { load } = await owner.client.getParticipant(code, "ada");
      return load.active + load.queued;
    };
    const own: HeadersInit =
      proof === "its client key"
        ? { ...forwarded, authorization: `Bearer ${answer.clientKey}` }
        : {};
    const requests = [
      ...["running", "other1", "other2"].map((user) => ({ user, at: owner, headers: forwarded })),
      { user: "own", at: entry, headers: own },
    ];
    const responses: Promise<unknown>[] = [];
    for (const { user, at, headers } of requests) {
      const json = { model: "*", messages: [], user };
      const path = `/v1/rooms/${code}/chat/completions`;
      responses.push(at.fetch(path, { json, headers }).then((response) => response.text()));
      await expect.poll(inUse).toBe(responses.length);
    }
    open();
    await Promise.all(responses);
    // At the model server: events of two hubs have no order between them.
    const served = provider.requests.filter(({ path }) => path.includes("completions"));
    const order = served.map(({ json }) => json["user"]);
    expect(order).toEqual(["running", "own", "other1", "other2"]);
  },
);
