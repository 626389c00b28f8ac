import type { Fetch } from "./connection.ts";
import { withTls } from "./hub-url.ts";

/** The parts of Node that pins need; a browser has none, and shows no page the key of a server. */
interface NodeModules {
  "node:https": {
    Agent: new (options: { keepAlive: boolean; maxCachedSessions: number }) => PinnedAgent;
    request(url: string, options: object): Outgoing;
  };
  "node:tls": { connect(options: object): PinnedSocket };
  "node:crypto": { hash(algorithm: string, data: Uint8Array, encoding: string): string };
  "node:stream": {
    Readable: {
      fromWeb(stream: ReadableStream): { pipe(to: Outgoing): void };
      toWeb(stream: Incoming): ReadableStream<Uint8Array<ArrayBuffer>>;
    };
  };
}

/** An `https.Agent`. */
interface PinnedAgent {
  createConnection: (
    options: object,
    onReady: (error: Error | null, socket?: object) => void,
  ) => void;
}

/** A `TLSSocket` of a client. */
export interface PinnedSocket {
  once(event: string, listener: (error: Error) => void): void;
  off(event: string, listener: (error: Error) => void): void;
  setTimeout(ms: number, onTimeout?: () => void): void;
  destroy(error?: Error): void;
  getPeerX509Certificate(): { publicKey: { export(options: object): unknown } } | undefined;
}

interface Outgoing {
  once(event: "error", listener: (error: Error) => void): void;
  once(event: "response", listener: (response: Incoming) => void): void;
  end(body?: unknown): void;
}

interface Incoming {
  statusCode: number;
  statusMessage: string;
  rawHeaders: string[];
  resume(): void;
}

/** Another key than the pinned one, or no TLS at all; `certificateProblem()` has the sentences. */
class PinError extends Error {
  readonly code: string;
  readonly reason: string;

  constructor(code: string, reason: string) {
    super(reason);
    this.code = code;
    this.reason = reason;
  }
}

/**
 * `fetch` over connections on which a server proves that it has the pinned key. Nothing is sent before that; no authority is
 * asked and no session is resumed. Follows no redirect. Only in Node.
 */
export function pinnedFetch(pin: string): Fetch {
  const agent = pinnedAgent(pin);
  return async (url, init) => {
    const target = withTls(url);
    init.signal?.throwIfAborted();
    const request = new Request(target, { ...init, duplex: "half" } as RequestInit);
    const incoming = await new Promise<Incoming>((resolve, reject) => {
      const outgoing = nodeModule("node:https").request(target, {
        agent,
        method: request.method,
        headers: Object.fromEntries(request.headers),
        signal: init.signal ?? undefined,
      });
      outgoing.once("error", reject);
      outgoing.once("response", resolve);
      const { body } = request;
      if (body === null || typeof init.body === "string") outgoing.end(init.body ?? undefined);
      else nodeModule("node:stream").Readable.fromWeb(body).pipe(outgoing);
    });
    return responseOf(target, incoming);
  };
}

/** An `https.Agent` whose connections are verified before a request gets them. */
export function pinnedAgent(pin: string): object {
  const { Agent } = nodeModule("node:https");
  const agent = new Agent({ keepAlive: true, maxCachedSessions: 0 });
  agent.createConnection = (options, onReady) => {
    const socket = nodeModule("node:tls").connect({ ...options, ...pinnedTls });
    verifyPinned(socket, pin).then(
      () => onReady(null, socket),
      (error: Error) => onReady(error),
    );
  };
  return agent;
}

/** The pin takes the place of authorities and names. A resumed session would show no key. */
export const pinnedTls = { rejectUnauthorized: false, session: undefined };

const handshakeMs = 10_000;

/**
 * Resolves when the handshake is over and the server has the pinned key; until then nothing may be written.
 *
 * @throws PinError; the socket is destroyed then
 */
export async function verifyPinned(socket: PinnedSocket, pin: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const fail = (error: Error): void => reject(isTlsFailure(error) ? withoutTls() : error);
    const late = new Error(`no TLS handshake within ${handshakeMs / 1_000} s`);
    socket.setTimeout(handshakeMs, () => socket.destroy(late));
    socket.once("error", fail);
    socket.once("secureConnect", () => {
      socket.setTimeout(0);
      socket.off("error", fail);
      resolve();
    });
  });
  const found = pinOf(socket);
  if (found === pin) return;
  socket.destroy();
  throw new PinError("ERR_PINNED_KEY_MISMATCH", `expected ${pin}, found ${found}`);
}

function pinOf(socket: PinnedSocket): string {
  const key = socket.getPeerX509Certificate()?.publicKey.export({ type: "spki", format: "der" });
  if (!(key instanceof Uint8Array)) return "no certificate";
  return `sha256-${nodeModule("node:crypto").hash("sha256", key, "base64url")}`;
}

function isTlsFailure(error: Error): boolean {
  return "code" in error && /^ERR_(?:SSL|TLS)_|^EPROTO$/.test(String(error.code));
}

function withoutTls(): PinError {
  return new PinError("ERR_PINNED_WITHOUT_TLS", "no TLS connection");
}

function responseOf(url: string, incoming: Incoming): Response {
  const { statusCode: status, statusMessage: statusText, rawHeaders } = incoming;
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    headers.append(rawHeaders[index] ?? "", rawHeaders[index + 1] ?? "");
  const isBodyless = status === 204 || status === 304;
  if (isBodyless) incoming.resume();
  const body = isBodyless ? null : nodeModule("node:stream").Readable.toWeb(incoming);
  const response = new Response(body, { status, statusText, headers });
  return Object.defineProperty(response, "url", { value: url });
}

function nodeModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] {
  const { process } = globalThis as {
    process?: { getBuiltinModule?: (name: string) => unknown };
  };
  const found = process?.getBuiltinModule?.(name);
  if (found === undefined) throw new Error("A hub with a pin can be used from Node only.");
  return found as NodeModules[Name];
}
