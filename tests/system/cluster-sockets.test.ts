import type { ParticipantSummary } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { connectResponses, textOf } from "../support/clients/responses-client.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { turn } from "../support/hub/responses-room.ts";
import { type ClusterHub, startCluster } from "../support/hub/start-cluster.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { createGate, until, within } from "../support/waiting.ts";

/** A turn runs on a socket at one of three hubs, in a room whose home is the first. */
async function running(at: number) {
  const stack = new AsyncDisposableStack();
  const gate = createGate();
  const provider = stack.use(
    await startFakeProvider({
      behave: ({ json }) =>
        json["model"] === undefined
          ? undefined
          : { kind: "normal", gate: gate.opened, gateAfterChunks: 1 },
    }),
  );
  const cluster = stack.use(await startCluster(3, { limits: { drainMs: 5_000 } }));
  const hubs = cluster.hubs as [ClusterHub, ClusterHub, ClusterHub];
  const [home, , third] = hubs;
  const code = await home.createRoom();
  await home.fetch(`/rooms/${code}/participants`);
  stack.use(await joinTunnel(third, code, { endpoint: provider.url }));
  const ready = () =>
    until(
      "ada's tunnel",
      async () => {
        const response = await third.fetch(`/rooms/${code}/participants`);
        return ((await response.json()) as { participants: ParticipantSummary[] }).participants;
      },
      ([ada]) => ada?.connection.readiness === "ready",
    );
  await ready();
  await cluster.linked();
  const open = async (hub: ClusterHub) =>
    stack.use(await connectResponses(`${hub.url}/rooms/${code}/v1/responses`));
  const client = await open(hubs[at]!);
  client.send({ type: "response.create", ...turn });
  await provider.waitFor(({ requests }) => requests.some(({ json }) => json["model"]));
  return {
    ...{ hubs, gate, client, open, ready },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

test.each([
  ["of a home that stops", 0, 0],
  ["at another hub, whose home stops", 1, 0],
  ["at a hub that stops", 1, 1],
])(
  "a socket %s closes after the turn that runs, and says to open a new one",
  async (_which, at, stops) => {
    await using it = await running(at);
    const stopped = it.hubs[stops]!.hub.close();
    await it.ready();
    it.gate.open();
    expect(textOf(await it.client.answer())).toBe(turn.input);
    expect(await within(it.client.closed, "the close")).toEqual({
      code: 1001,
      reason: expect.stringContaining("open a new socket") as string,
    });
    expect(await stopped).toEqual({ cut: 0 });
    const next = await it.open(it.hubs[2]);
    expect(textOf(await next.turn(turn))).toBe(turn.input);
  },
);
