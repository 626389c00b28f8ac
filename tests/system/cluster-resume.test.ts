import type { ParticipantSummary } from "@roomhub/protocol";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { startCluster, type TestCluster } from "../support/hub/start-cluster.ts";
import { SessionAgent } from "../support/hub/session-agent.ts";
import { within } from "../support/waiting.ts";

/** Ada, whose tunnel is open at the first hub. */
async function joined(cluster: TestCluster) {
  const [one, other] = cluster.hubs;
  if (one === undefined || other === undefined) throw new Error("no hubs");
  const code = await one.createRoom();
  const registration = { id: "ada", nickname: "Ada", model: "m", endpoint: "http://127.0.0.1:1" };
  const answer = await one.client.join(code, registration);
  const agent = new SessionAgent(code, answer);
  const opened = await agent.open(one);
  await cluster.everywhere(
    `/rooms/${code}/participants`,
    ({ participants }: { participants: ParticipantSummary[] }) =>
      participants.some(({ connection }) => connection.readiness === "ready"),
  );
  await cluster.linked();
  return { one, other, code, agent, ...opened };
}

describe("a tunnel that goes on at another hub than before", () => {
  test("is piped to the hub that has its session, and its stream ends as it began", async () => {
    await using cluster = await startCluster(2);
    const { one, other, code, agent, session, socket } = await joined(cluster);
    const json = { model: "ada", messages: userSays("a"), stream: false };
    const arrived = agent.nextRequest;
    const response = one.fetch(`/rooms/${code}/v1/chat/completions`, { json });
    const { responder } = await arrived;
    responder.head({ status: 200, headers: { "content-type": "application/json" } });
    responder.write(Buffer.from('{"id":"1",'));
    socket.terminate();
    await within(once(socket, "close"), "the connection to break");
    const again = await agent.open(other, session);
    expect(again.isResumed).toBe(true);
    responder.write(Buffer.from('"object":"chat.completion","choices":[]}'));
    responder.end();
    expect(await (await response).json()).toMatchObject({ id: "1", choices: [] });
    expect(agent.requests).toHaveLength(1);
    again.session.close(1000, "");
  });

  test("is refused to a stranger there", async () => {
    await using cluster = await startCluster(2);
    const { other, code, session } = await joined(cluster);
    const stranger = new SessionAgent(code, { participantToken: `rhp_${"x".repeat(43)}` });
    expect(await stranger.refusal(other, session.resumeId)).toMatchObject([403, {}]);
    session.close(1000, "");
  });
});
