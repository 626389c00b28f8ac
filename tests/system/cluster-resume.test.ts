import type { JoinResponse, ParticipantSummary } from "@roomhub/protocol";
import {
  AgentSession,
  type IncomingRequest,
  type RequestBodyHandler,
  TUNNEL_SUBPROTOCOL,
  WS_LIMITS,
  wsTransport,
} from "@roomhub/tunnel";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { userSays } from "../support/clients/openai-client.ts";
import { type ClusterHub, startCluster, type TestCluster } from "../support/hub/start-cluster.ts";
import { within } from "../support/waiting.ts";

/** The agent's end of a tunnel, dialled by hand: at any hub, with or without an earlier session. */
class Agent {
  readonly requests: IncomingRequest[] = [];
  readonly #token: string;
  readonly #code: string;
  #arrived = Promise.withResolvers<IncomingRequest>();

  constructor(code: string, { participantToken = "" }: JoinResponse) {
    this.#code = code;
    this.#token = participantToken;
  }

  get nextRequest(): Promise<IncomingRequest> {
    return within(this.#arrived.promise, "a request");
  }

  dial({ port }: ClusterHub, session: string | undefined): WebSocket {
    const url = `ws://127.0.0.1:${port}/v1/rooms/${this.#code}/participants/ada/tunnel`;
    const name = session === undefined ? {} : { "x-roomhub-session": session };
    const headers = { authorization: `Bearer ${this.#token}`, ...name };
    return new WebSocket(url, TUNNEL_SUBPROTOCOL, { ...WS_LIMITS, headers });
  }

  /** @returns the session that goes on, and whether it is the earlier one */
  async open(hub: ClusterHub, earlier: AgentSession | undefined) {
    const socket = this.dial(hub, earlier?.resumeId);
    const greeted = Promise.withResolvers<{ session: AgentSession; isResumed: boolean }>();
    socket.once("error", (error) => greeted.reject(error));
    socket.once("open", () => {
      const session: AgentSession = new AgentSession(wsTransport(socket), {
        maxStreams: 8,
        requestWindowBytes: undefined,
        capabilities: {},
        pingIntervalMs: undefined,
        bootId: "boot",
        resumes: earlier,
        handlers: {
          onHello: () => greeted.resolve({ session, isResumed: false }),
          onResume: (resumed) => greeted.resolve({ session: resumed, isResumed: true }),
          onRequest: (request) => this.#take(request),
          onGoAway() {},
          onClose() {},
          onError: (error) => greeted.reject(error),
        },
      });
    });
    return { socket, ...(await within(greeted.promise, "the hub's HELLO")) };
  }

  #take(request: IncomingRequest): RequestBodyHandler {
    this.requests.push(request);
    this.#arrived.resolve(request);
    const end = () => request.responder.end();
    return { onBody: () => true, onBodyEnd() {}, onReset: end, onDrain() {} };
  }
}

/** Ada, whose tunnel is open at the first hub. */
async function joined(cluster: TestCluster) {
  const [one, other] = cluster.hubs;
  if (one === undefined || other === undefined) throw new Error("no hubs");
  const code = await one.createRoom();
  const registration = { id: "ada", nickname: "Ada", model: "m", endpoint: "http://127.0.0.1:1" };
  const answer = await one.client.join(code, registration);
  const agent = new Agent(code, answer);
  const opened = await agent.open(one, undefined);
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
    const response = one.fetch(`/rooms/${code}/v1/chat/completions`, { json });
    const { responder } = await agent.nextRequest;
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
    const stranger = new Agent(code, { participantToken: `rhp_${"x".repeat(43)}` } as JoinResponse);
    const socket = stranger.dial(other, session.resumeId);
    socket.on("error", () => {});
    const [, refusal] = (await within(once(socket, "unexpected-response"), "a refusal")) as [
      unknown,
      IncomingMessage,
    ];
    expect(refusal.statusCode).toBe(403);
    refusal.resume();
    session.close(1000, "");
  });
});
