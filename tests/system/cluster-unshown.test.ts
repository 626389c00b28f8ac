import { expect, test } from "vitest";
import { type ClusterHub, startCluster } from "../support/hub/start-cluster.ts";

const join = (id: string) => ({
  ...{ id, nickname: id, model: "fake-model", transport: "tunnel" as const },
  endpoint: "http://127.0.0.1:9/v1",
});

test("watchers at a hub that was cut off learn what became of participants meanwhile, each once", async () => {
  await using cluster = await startCluster(2);
  const [one, other] = cluster.hubs as [ClusterHub, ClusterHub];
  const code = await one.createRoom();
  const { participantToken: adas } = await one.client.join(code, join("ada"));
  const { participantToken: bobs } = await one.client.join(code, join("bob"));
  await cluster.everywhere(`/rooms/${code}/participants`, ({ participants }: never) => {
    return (participants as unknown[]).length === 2;
  });
  const events = await other.watch(code);
  other.directory.cutOff();
  await one.client.leave(code, "ada", { token: adas });
  await one.client.updateParticipant(code, "bob", { nickname: "Robert" }, { token: bobs });
  await one.client.join(code, join("cat"));
  other.directory.heal();
  const left = await events.next("participant.left");
  expect(left.data).toMatchObject({ participantId: "ada", nickname: "ada" });
  const updated = await events.next("participant.updated");
  expect(updated.data).toMatchObject({ participant: { id: "bob", nickname: "Robert" } });
  const joined = await events.next("participant.joined");
  expect(joined.data).toMatchObject({ participant: { id: "cat" } });
  // What comes by its event does not come again.
  await one.client.join(code, join("dan"));
  await events.next("participant.joined", ({ participant }) => {
    return (participant as { id: string }).id === "dan";
  });
  expect(events.of("participant.joined")).toHaveLength(2);
  expect(events.of("participant.left")).toHaveLength(1);
});
