import { describe, expect, test } from "vitest";
import { joinTunnel } from "../support/hub/joining.ts";
import { SessionAgent } from "../support/hub/session-agent.ts";
import {
  type ClusterHub,
  type ClusterHubOptions,
  startCluster,
} from "../support/hub/start-cluster.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { until } from "../support/waiting.ts";

/** A room with its home at the first of two hubs, and ada in it, who joined at the other. */
async function startHomes(options: ClusterHubOptions = {}) {
  const cluster = await startCluster(2, options);
  const [home, other] = cluster.hubs as [ClusterHub, ClusterHub];
  const code = await home.createRoom();
  await home.fetch(`/rooms/${code}/participants`);
  await cluster.linked();
  const registration = { id: "ada", nickname: "Ada", model: "m", endpoint: "http://127.0.0.1:1" };
  const joined = await other.client.join(code, registration);
  const path = `/v1/rooms/${code}/participants/ada/tunnel`;
  const tunnelAt = ({ url }: ClusterHub) => url.replace("http", "ws") + path;
  const agent = new SessionAgent(code, joined);
  return { cluster, home, other, code, joined, agent, tunnelAt };
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
    expect(hello.homeEpoch).toBe(1);
    session.close(1000, "");
  });

  test("is piped when it cannot reach the home, and so is one that does not know of homes", async () => {
    const { agent, other, cluster } = await startHomes();
    await using _cluster = cluster;
    for (const more of [{ ...knows(1), "x-roomhub-pipe": "1" }, {}]) {
      const { hello, session } = await agent.open(other, undefined, more);
      expect(hello.homeEpoch).toBe(1);
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
    expect(there.hello.homeEpoch).toBe(2);
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
    expect(hello.homeEpoch).toBe(1);
    session.close(1000, "");
  });
});

async function hubsAt(hub: ClusterHub): Promise<[{ hubId: string; bootId: string }]> {
  const { hubs } = (await (await hub.fetch("/v1/cluster/hubs")).json()) as {
    hubs: [{ hubId: string; bootId: string }];
  };
  return hubs;
}
