import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { joinTunnel } from "../support/hub/joining.ts";
import { SessionAgent } from "../support/hub/session-agent.ts";
import {
  type ClusterHub,
  type ClusterHubOptions,
  startCluster,
} from "../support/hub/start-cluster.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { until, within } from "../support/waiting.ts";

/** A room with its home at the first of the hubs, and ada in it, who joined at the second. */
async function startHomes(count = 2, options: ClusterHubOptions = {}) {
  const cluster = await startCluster(count, options);
  const [home, other, third = other] = cluster.hubs as [ClusterHub, ClusterHub];
  const code = await home.createRoom();
  await home.fetch(`/rooms/${code}/participants`);
  await cluster.linked();
  const registration = { id: "ada", nickname: "Ada", model: "m", endpoint: "http://127.0.0.1:1" };
  const joined = await other.client.join(code, registration);
  const path = `/v1/rooms/${code}/participants/ada/tunnel`;
  const tunnelAt = ({ url }: ClusterHub) => url.replace("http", "ws") + path;
  const agent = new SessionAgent(code, joined);
  return { cluster, home, other, third, code, joined, agent, tunnelAt };
}

const knows = (epoch: number) => ({ "x-roomhub-home-epoch": String(epoch) });

describe("an agent that follows the home of its room", () => {
  test("hears which home took its join", async () => {
    const { joined, home, tunnelAt, cluster } = await startHomes();
    await using _cluster = cluster;
    expect(joined).toMatchObject({ homeEpoch: 1, tunnel: { url: tunnelAt(home) } });
  });

  test("is sent to the home by any other hub, and hears there which one it is", async () => {
    const { agent, home, other, tunnelAt, cluster } = await startHomes();
    await using _cluster = cluster;
    expect(await agent.refusal(other, undefined, knows(1))).toEqual([
      421,
      {
        error: expect.objectContaining({ code: "home_elsewhere" }) as object,
        tunnel: { url: tunnelAt(home) },
        homeEpoch: 1,
      },
    ]);
    const { hello, session } = await agent.open(home, undefined, knows(1));
    expect(hello.epoch).toBe(1);
    session.close(1000, "");
  });

  test("is piped when it cannot reach the home, and so is one that does not know of homes", async () => {
    const { agent, other, cluster } = await startHomes();
    await using _cluster = cluster;
    for (const more of [{ ...knows(1), "x-roomhub-pipe": "1" }, {}]) {
      const { hello, session } = await agent.open(other, undefined, more);
      expect(hello.epoch).toBe(1);
      session.close(1000, "");
    }
  });

  test("goes on with its session where that is, whichever hub it dials", async () => {
    const { agent, home, other, tunnelAt, cluster } = await startHomes();
    await using _cluster = cluster;
    const { session } = await agent.open(home, undefined, knows(1));
    expect(await agent.refusal(other, session.resumeId, knows(1))).toMatchObject([
      421,
      { error: { code: "session_elsewhere" }, tunnel: { url: tunnelAt(home) } },
    ]);
    session.close(1000, "");
  });

  test("has its tunnel at the home itself, so that the hub that it was given may end", async () => {
    await using provider = await startFakeProvider();
    const { home, other, code, cluster } = await startHomes();
    await using _cluster = cluster;
    const notices: string[] = [];
    await using _bob = await joinTunnel(other, code, {
      ...{ id: "bob", nickname: "Bob", endpoint: provider.url },
      onNotice: ({ kind }) => notices.push(kind),
    });
    await other.hub.close();
    const json = { model: "bob", messages: [{ role: "user", content: "a" }] };
    const response = await home.fetch(`/rooms/${code}/v1/chat/completions`, { json });
    expect([response.status, notices]).toMatchObject([
      200,
      expect.not.arrayContaining(["disconnected"]),
    ]);
    await response.text();
  });
});

describe("a stream at the home before", () => {
  /** It runs, its home stops, and the room has another home by now. */
  async function handedOver() {
    const world = await startHomes(3, { limits: { drainMs: 10_000 } });
    const { agent, home, other, code } = world;
    const opened = await agent.open(home, undefined, knows(1));
    const json = { model: "ada", messages: [{ role: "user", content: "a" }] };
    const arrived = agent.nextRequest;
    const response = other.fetch(`/rooms/${code}/v1/chat/completions`, { json });
    const { responder } = await arrived;
    responder.head({ status: 200, headers: { "content-type": "application/json" } });
    responder.write(Buffer.from('{"id":"1",'));
    const stopped = home.hub.close();
    await within(opened.goneAway, "GOAWAY");
    return { ...world, ...opened, responder, response, stopped };
  }

  test.each(["home", "other", "third"] as const)(
    "goes on there after its connection broke, by way of the %s hub",
    async (way) => {
      const { agent, session, socket, responder, response, stopped, cluster, ...hubs } =
        await handedOver();
      await using _cluster = cluster;
      socket.terminate();
      await within(once(socket, "close"), "the connection to break");
      const again = await agent.open(hubs[way], session);
      expect(again.isResumed).toBe(true);
      responder.write(Buffer.from('"object":"chat.completion","choices":[]}'));
      responder.end();
      expect(await (await response).json()).toMatchObject({ id: "1", choices: [] });
      expect(agent.requests).toHaveLength(1);
      expect(await stopped).toEqual({ cut: 0 });
    },
  );

  test("is not given to a stranger who dials there", async () => {
    const { code, home, session, responder, response, cluster } = await handedOver();
    await using _cluster = cluster;
    const stranger = new SessionAgent(code, { participantToken: `rhp_${"x".repeat(43)}` });
    expect((await stranger.refusal(home, session.resumeId))[0]).toBe(403);
    responder.write(Buffer.from('"object":"chat.completion","choices":[]}'));
    responder.end();
    expect((await response).status).toBe(200);
  });
});

describe("a hub that was replaced as the home while it could not know", () => {
  /** The directory names the other hub; the first one is cut off from it. */
  async function split() {
    const world = await startHomes();
    const { home, other, code } = world;
    home.directory.cutOff();
    const stored = await other.directory.readHome(code);
    const [{ hubId, bootId }] = await hubsAt(other);
    await other.directory.putHome(code, { hubId, bootId, epoch: 2 }, stored!.revision);
    await until(
      "ada at the next home",
      async () => (await other.fetch(`/v1/rooms/${code}/participants/ada`)).status,
      (status) => status === 200,
    );
    return world;
  }

  test("takes no tunnel of an agent that has seen the next one", async () => {
    const { agent, home, other, tunnelAt, cluster } = await split();
    await using _cluster = cluster;
    const there = await agent.open(other, undefined, knows(1));
    expect(there.hello.epoch).toBe(2);
    const refused = agent.refusal(home, undefined, knows(2));
    home.directory.heal();
    expect(await refused).toMatchObject([
      421,
      { error: { code: "home_elsewhere" }, tunnel: { url: tunnelAt(other) }, homeEpoch: 2 },
    ]);
    expect(there.session.isOpen).toBe(true);
    there.session.close(1000, "");
  });

  test("is not asked to look by an agent whose token is wrong", async () => {
    const { home, code, cluster, agent } = await split();
    await using _cluster = cluster;
    const stranger = new SessionAgent(code, { participantToken: `rhp_${"x".repeat(43)}` });
    expect((await stranger.refusal(home, undefined, knows(9)))[0]).toBe(403);
    const { hello, session } = await agent.open(home, undefined, knows(1));
    expect(hello.epoch).toBe(1);
    session.close(1000, "");
  });
});

async function hubsAt(hub: ClusterHub): Promise<[{ hubId: string; bootId: string }]> {
  const { hubs } = (await (await hub.fetch("/v1/cluster/hubs")).json()) as {
    hubs: [{ hubId: string; bootId: string }];
  };
  return hubs;
}
