import {
  AgentSession,
  CLOSE_CODES,
  type IncomingRequest,
  type RequestBodyHandler,
  type Responder,
  TUNNEL_SUBPROTOCOL,
  WS_LIMITS,
  wsTransport,
} from "@roomhub/tunnel";
import { WebSocket } from "ws";
import { within } from "../waiting.ts";

/** A request that waits until a test responds to it. */
export interface HeldRequest {
  /** the `user` field of its body, or `tag`, by which tests distinguish requests */
  tag: string;
  isStream: boolean;
  responder: Responder;
}

/** The agent's end of a real tunnel, whose responses a test sends. */
export interface HandAgent {
  /** by tag, in order of arrival, without completed and cancelled requests */
  readonly held: Map<string, HeldRequest>;
  /** undefined while the tunnel is open */
  readonly closeCode: number | undefined;
  /** Resolves when the tunnel is closed, by either side. */
  readonly ended: Promise<void>;
  readonly socket: WebSocket;
  readonly session: AgentSession;
  /** Resolves when the hub has seen a sign of life, and everything that was sent before it. */
  ping(): Promise<void>;
  /** Resolves when it is closed. */
  close(): Promise<void>;
}

export function dialTunnel(tunnelUrl: string, token: string): WebSocket {
  const headers = { authorization: `Bearer ${token}` };
  return new WebSocket(tunnelUrl, TUNNEL_SUBPROTOCOL, { ...WS_LIMITS, headers });
}

/**
 * Resolves when the hub's HELLO came.
 *
 * @param isDeaf - it offers to resume in its HELLO, and reads nothing: resolves when that is sent
 */
export async function openHandAgent(
  tunnelUrl: string,
  token: string,
  isDeaf = false,
): Promise<HandAgent> {
  const socket = dialTunnel(tunnelUrl, token);
  const held = new Map<string, HeldRequest>();
  const greeted = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  let closeCode: number | undefined;
  // In the turn of `open`, or the hub's first message is lost.
  const opened = new Promise<AgentSession>((resolve, reject) => {
    socket.on("error", reject);
    socket.on("open", () => {
      const session: AgentSession = new AgentSession(wsTransport(socket), {
        maxStreams: 1_000,
        requestWindowBytes: undefined,
        capabilities: {},
        pingIntervalMs: undefined,
        ...(isDeaf ? { bootId: "deaf" } : {}),
        handlers: {
          onHello: () => greeted.resolve(),
          onRequest: (request) => hold(held, request),
          onGoAway: () => undefined,
          onClose: (code) => {
            closeCode = code;
            closed.resolve();
          },
          onError: (error) => greeted.reject(error),
        },
      });
      if (isDeaf) socket.pause();
      resolve(session);
    });
  });
  const session = await within(opened, "the tunnel to open");
  if (!isDeaf) await within(greeted.promise, "the hub's HELLO");
  return {
    held,
    ended: closed.promise,
    socket,
    session,
    get closeCode() {
      return closeCode;
    },
    async ping() {
      if (closeCode !== undefined) return;
      const answered = new Promise<void>((resolve) => socket.once("pong", () => resolve()));
      socket.ping();
      await within(Promise.race([answered, closed.promise]), "a pong");
    },
    async close() {
      session.close(CLOSE_CODES.done, "");
      await within(closed.promise, "the tunnel's end");
    },
  };
}

interface Tagged {
  user?: string;
  tag?: string;
}

function hold(held: Map<string, HeldRequest>, request: IncomingRequest): RequestBodyHandler {
  const chunks = [Buffer.from(request.body)];
  let tag: string | undefined;
  function keep(): void {
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Tagged;
    tag = body.user ?? body.tag ?? "";
    held.set(tag, { tag, isStream: request.head.stream, responder: request.responder });
  }
  if (request.end) keep();
  return {
    onBody: (chunk) => {
      chunks.push(Buffer.from(chunk));
      return true;
    },
    onBodyEnd: keep,
    onReset: () => {
      if (tag !== undefined) held.delete(tag);
      // The hub holds the slot until then.
      request.responder.end();
    },
    onDrain: () => undefined,
  };
}
