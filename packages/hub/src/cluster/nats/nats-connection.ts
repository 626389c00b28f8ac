import type * as jetstreamModule from "@nats-io/jetstream";
import type { JetStreamClient, JetStreamManager } from "@nats-io/jetstream";
import type * as kvModule from "@nats-io/kv";
import type { NatsConnection, NodeConnectionOptions } from "@nats-io/transport-node";
import { reasonOf } from "../../errors.ts";
import { DirectoryUnavailable } from "../directory.ts";

export interface NatsAccess {
  /**
   * `nats://` or `tls://` URLs. User and password, or a token alone, in the first count for all: servers also name each
   * other.
   */
  servers: readonly string[];
  /** text of a `.creds` file */
  credentials?: string | undefined;
  tls?: NatsTls | undefined;
}

/** Paths of PEM files. */
interface NatsTls {
  caFile?: string | undefined;
  certFile?: string | undefined;
  keyFile?: string | undefined;
}

/** One connection to NATS, with what is used of the client's packages, which are loaded only for it. */
export interface NatsClient {
  connection: NatsConnection;
  streams: JetStreamClient;
  manager: JetStreamManager;
  modules: NatsModules;
}

interface NatsModules {
  jetstream: typeof jetstreamModule;
  kv: typeof kvModule;
}

export interface ConnectOptions {
  /** shown by the server */
  name: string;
  /** of the subjects on which responses are received: an account may be limited to it */
  inboxPrefix: string;
  /** in `[0, 1)` */
  random: () => number;
}

const connectTimeoutMs = 5_000;
const requestTimeoutMs = 3_000;
/** A connection that no longer carries anything is noticed after two of these, at most three. */
const pingIntervalMs = 3_000;
/** Back within 5 s after the server, with time to read all entries again. */
const longestReconnectMs = 4_000;

/** @throws DirectoryUnavailable that names the servers, never the credentials */
export async function connectToNats(
  access: NatsAccess,
  { name, inboxPrefix, random }: ConnectOptions,
): Promise<NatsClient> {
  const [transport, jetstream, kv] = await Promise.all([
    import("@nats-io/transport-node"),
    import("@nats-io/jetstream"),
    import("@nats-io/kv"),
  ]);
  const { servers, login, needsTls } = readServers(access.servers);
  const options: NodeConnectionOptions = {
    servers,
    ...login,
    name,
    inboxPrefix,
    noEcho: true,
    timeout: connectTimeoutMs,
    pingInterval: pingIntervalMs,
    maxPingOut: 2,
    maxReconnectAttempts: -1,
    reconnectDelayHandler: () => random() * longestReconnectMs,
    // An account that is edited, or a server that starts without it, refuses for a while.
    ignoreAuthErrorAbort: true,
  };
  if (needsTls || access.tls !== undefined) options.tls = definedOnly(access.tls ?? {});
  if (access.credentials !== undefined) {
    options.authenticator = transport.credsAuthenticator(
      new TextEncoder().encode(access.credentials),
    );
  }
  let connection: NatsConnection;
  try {
    connection = await transport.connect(options);
  } catch (error) {
    throw new DirectoryUnavailable(
      `NATS at ${servers.join(", ")} cannot be reached: ${reasonOf(error)}.`,
      { cause: error },
    );
  }
  try {
    const apiOptions = { timeout: requestTimeoutMs, watcherPrefix: inboxPrefix };
    const manager = await jetstream.jetstreamManager(connection, apiOptions);
    const streams = jetstream.jetstream(connection, apiOptions);
    return { connection, streams, manager, modules: { jetstream, kv } };
  } catch (error) {
    await connection.close();
    throw new DirectoryUnavailable(
      `NATS at ${servers.join(", ")} gives this account no JetStream: ${reasonOf(error)}.`,
      { cause: error },
    );
  }
}

interface ReadServers {
  /** `host:port`, as they may be shown */
  servers: string[];
  login: { user?: string; pass?: string; token?: string };
  needsTls: boolean;
}

/** @throws Error for a URL that is none; without the URL, which may hold a password */
export function readServers(urls: readonly string[]): ReadServers {
  const parsed = urls.map((text) => {
    const url = URL.parse(/^\w+:\/\//.test(text) ? text : `nats://${text}`);
    if (url === null || !["nats:", "tls:"].includes(url.protocol) || url.hostname === "")
      throw new Error("A NATS server is given as nats://HOST:PORT or tls://HOST:PORT.");
    return url;
  });
  const [first] = parsed;
  if (first === undefined) throw new Error("No NATS server is given.");
  const [user, pass] = [decodeURIComponent(first.username), decodeURIComponent(first.password)];
  return {
    servers: parsed.map(({ hostname, port }) => `${hostname}:${port === "" ? "4222" : port}`),
    login: user === "" ? {} : pass === "" ? { token: user } : { user, pass },
    needsTls: parsed.some(({ protocol }) => protocol === "tls:"),
  };
}

function definedOnly<Value extends object>(value: Value): Partial<Value> {
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(entries) as Partial<Value>;
}
