import type { JoinResponse } from "@roomhub/protocol";
import {
  AgentSession,
  type Hello,
  type IncomingRequest,
  type RequestBodyHandler,
  TUNNEL_SUBPROTOCOL,
  WS_LIMITS,
  wsTransport,
} from "@roomhub/tunnel";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { within } from "../waiting.ts";

/** The agent's end of a tunnel of ada, dialled by hand: at any hub, with or without an earlier session. */
export class SessionAgent {
  readonly requests: IncomingRequest[] = [];
  readonly #token: string;
  readonly #code: string;
  #arrived = Promise.withResolvers<IncomingRequest>();

  constructor(code: string, { participantToken = "" }: Pick<JoinResponse, "participantToken">) {
    this.#code = code;
    this.#token = participantToken;
  }

  get nextRequest(): Promise<IncomingRequest> {
    return within(this.#arrived.promise, "a request");
  }

  dial({ port }: { port: number }, session?: string, more: Record<string, string> = {}): WebSocket {
    const url = `ws://127.0.0.1:${port}/v1/rooms/${this.#code}/participants/ada/tunnel`;
    const name = session === undefined ? {} : { "x-roomhub-session": session };
    const headers = { authorization: `Bearer ${this.#token}`, ...name, ...more };
    return new WebSocket(url, TUNNEL_SUBPROTOCOL, { ...WS_LIMITS, headers });
  }

  /** @returns status and body of a handshake that is refused */
  async refusal(...to: Parameters<SessionAgent["dial"]>): Promise<[number, unknown]> {
    const socket = this.dial(...to);
    socket.on("error", () => {});
    const [, response] = (await within(once(socket, "unexpected-response"), "a refusal")) as [
      unknown,
      IncomingMessage,
    ];
    let text = "";
    for await (const part of response.setEncoding("utf8")) text += part;
    return [response.statusCode ?? 0, JSON.parse(text)];
  }

  /** @returns the session, and whether the earlier one was resumed */
  async open(hub: { port: number }, earlier?: AgentSession, more: Record<string, string> = {}) {
    const socket = this.dial(hub, earlier?.resumeId, more);
    const goneAway = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<number>();
    const greeted = Promise.withResolvers<{
      session: AgentSession;
      isResumed: boolean;
      hello: Hello;
    }>();
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
          onHello: (hello) => greeted.resolve({ session, isResumed: false, hello }),
          onResume: (resumed, hello) =>
            greeted.resolve({ session: resumed, isResumed: true, hello }),
          onRequest: (request) => this.#take(request),
          onGoAway: () => goneAway.resolve(),
          onClose: (code) => closed.resolve(code),
          onError: (error) => greeted.reject(error),
        },
      });
    });
    const opened = await within(greeted.promise, "the hub's HELLO");
    return { socket, goneAway: goneAway.promise, closed: closed.promise, ...opened };
  }

  #take(request: IncomingRequest): RequestBodyHandler {
    this.requests.push(request);
    this.#arrived.resolve(request);
    this.#arrived = Promise.withResolvers();
    const end = () => request.responder.end();
    return { onBody: () => true, onBodyEnd() {}, onReset: end, onDrain() {} };
  }
}
