/** `https:` in place of `http:`, and `wss:` in place of `ws:`. */
export function withTls(url: string): string {
  return url.replace(/^(http|ws):/, "$1s:");
}

/** A URL without a fragment, with the key that its server must prove: a pin means TLS. */
export function withPin(url: string, pin: string | undefined): string {
  return pin === undefined ? url : `${withTls(url)}#pin=${pin}`;
}

/** What a URL's fragment says after `pin=`, whole or not; undefined without one. */
export function pinText(url: string): string | undefined {
  return /#(?:.*&)?pin=([^&\s]*)/s.exec(url)?.[1];
}

/** The parts of Node that a check of keys needs. */
interface NodeModules {
  "node:https": {
    Agent: new (options: { keepAlive: boolean; maxCachedSessions: number }) => PinnedAgent;
  };
  "node:tls": { connect(options: object): PinnedSocket };
  "node:crypto": { hash(algorithm: string, data: Uint8Array, encoding: string): string };
}

/** An `https.Agent`. */
interface PinnedAgent {
  createConnection: (
    options: object,
    onReady: (error: Error | null, socket?: object) => void,
  ) => void;
}

/** A `TLSSocket` of a client. */
interface PinnedSocket {
  once(event: string, listener: (error: Error) => void): void;
  off(event: string, listener: (error: Error) => void): void;
  setTimeout(ms: number, onTimeout?: () => void): void;
  destroy(error?: Error): void;
  getPeerX509Certificate(): { publicKey: { export(options: object): unknown } } | undefined;
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

/** An `https.Agent` whose connections are verified before a request gets them. */
export function pinnedAgent(pin: string): object {
  const { Agent } = nodeModule<NodeModules, "node:https">("node:https");
  const agent = new Agent({ keepAlive: true, maxCachedSessions: 0 });
  agent.createConnection = (options, onReady) => {
    const socket = nodeModule<NodeModules, "node:tls">("node:tls").connect({
      ...options,
      ...pinnedTls,
    });
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
  return `sha256-${nodeModule<NodeModules, "node:crypto">("node:crypto").hash("sha256", key, "base64url")}`;
}

function isTlsFailure(error: Error): boolean {
  return "code" in error && /^ERR_(?:SSL|TLS)_|^EPROTO$/.test(String(error.code));
}

function withoutTls(): PinError {
  return new PinError("ERR_PINNED_WITHOUT_TLS", "no TLS connection");
}

/**
 * A module of Node, without an import: browsers load this file, too, and show no page the key of a server.
 *
 * @throws Error in a browser
 */
export function nodeModule<Modules, Name extends keyof Modules>(name: Name): Modules[Name] {
  const { process } = globalThis as {
    process?: { getBuiltinModule?: (name: unknown) => unknown };
  };
  const found = process?.getBuiltinModule?.(name);
  if (found === undefined) throw new Error("A hub with a pin can be used from Node only.");
  return found as Modules[Name];
}
