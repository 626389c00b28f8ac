import { HealthResponse, type PastedHub } from "@roomhub/protocol";
import { isBlockedPort } from "./blocked-port.ts";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { ipv4Addresses } from "../rooms/find-rooms.ts";
import { defaultPort } from "../rooms/hub-address.ts";
import { type HubConfig, hasPrecedence, overriddenLimits } from "./hub-config.ts";
import type { HubOptions, LogFormat, OpenedRoomStore, RunningHub } from "../services.ts";
import { type JoinedCluster, joinCluster } from "../cluster/join-cluster.ts";
import { isLoopback, isLoopbackReachable, isWildcard, urlOf } from "./listen-url.ts";
import { countOf, safe } from "../terminal/text.ts";

/** A hub on this machine responds at once; a program that never responds must not delay the error. */
const healthTimeoutMs = 1_000;

/** A listening hub, and the facts to print about it. */
export interface LaunchedHub {
  close: RunningHub["close"];
  watch: RunningHub["watch"];
  port: number;
  /** The URL on this machine. */
  localUrl: string;
  /** The URLs for other machines; empty when they cannot connect. */
  sharedUrls: { url: string; label: string }[];
  /** In lines to paste. */
  pasted: PastedHub;
  /** Whether `roomhub join` finds it on the network. */
  isAnnounced: boolean;
  rooms: RoomStorage;
  /** The program that the hub hands out; undefined when it hands out none. */
  handout: LaunchedHandout | undefined;
}

interface LaunchedHandout {
  /** Hexadecimal, once the program is made; made at once when others can reach the hub. */
  sha512: () => Promise<string | undefined>;
}

/** Where rooms are kept when the hub stops. `shared`: in NATS. `unwritable`: the state file cannot be used, and a warning said why. */
export type RoomStorage =
  | { kind: "kept"; path: string }
  | { kind: "shared"; servers: string[] }
  | { kind: "forgotten" }
  | { kind: "unwritable" };

/**
 * Starts a hub with this configuration. The caller closes it.
 *
 * @param defaultLogFormat - unless configured
 * @throws CommandError when the port cannot be opened, with the next step
 */
export async function launchHub(
  context: CliContext,
  config: HubConfig,
  defaultLogFormat: LogFormat,
): Promise<LaunchedHub> {
  const { settings } = config;
  const host = listenHost(context, config);
  const port = settings.port.value ?? defaultPort;
  if (isBlockedPort(port)) throw blockedPort(port);
  if (config.file !== undefined) context.stderr.write(`Settings from ${safe(config.file)}\n`);
  const cluster = await joinCluster(context, config, host, port);
  const opened =
    cluster !== undefined || isEphemeral(config)
      ? undefined
      : await context.openRoomStore(settings.stateFile.value, port, (warning) => {
          context.stderr.write(`${warning}\n`);
        });
  const handout = settings.handout.value === true ? await context.createHandout() : undefined;
  const options: HubOptions = {
    handout,
    host,
    port,
    store: opened?.store,
    direct: settings.direct.value,
    ownership: settings.ownership.value,
    streamUsage: settings.streamUsage.value,
    publicUrl: settings.publicUrl.value,
    sharedUrl: (listeningPort) =>
      sharedUrlsOf(context, options, settings.advertise.value, listeningPort)[0]?.url,
    trustProxy: settings.trustProxy.value,
    sharedAddresses: settings.distrustGateway.value === true ? context.defaultGateways() : [],
    limits: overriddenLimits(config),
    logFormat: settings.logFormat.value ?? defaultLogFormat,
    cluster: cluster?.options,
  };
  const hub = await context.createHub(options);
  try {
    const listening = await hub.listen();
    const localUrl = urlOf(isLoopbackReachable(host) ? "127.0.0.1" : (host ?? ""), listening.port);
    const sharedUrls = sharedUrlsOf(context, options, settings.advertise.value, listening.port);
    const announcement = isWildcard(host) && settings.mdns.value === true;
    const withdraw = announcement ? await announce(context, listening.port) : async () => {};
    return {
      close: async () => {
        await withdraw();
        return hub.close();
      },
      watch: (code, listener) => hub.watch(code, listener),
      port: listening.port,
      localUrl,
      sharedUrls,
      pasted: { hubUrl: sharedUrls[0]?.url ?? localUrl, isHandedOut: handout !== undefined },
      isAnnounced: announcement,
      rooms: roomStorage(opened, cluster),
      handout: handout && { sha512: () => hub.prepareHandout() },
    };
  } catch (error) {
    await hub.close();
    throw await explainListenFailure(context, error, port, host);
  }
}

function roomStorage(
  opened: OpenedRoomStore | undefined,
  cluster: JoinedCluster | undefined,
): RoomStorage {
  if (cluster !== undefined) return { kind: "shared", servers: cluster.servers };
  if (opened === undefined) return { kind: "forgotten" };
  return opened.store.isKeeping ? { kind: "kept", path: opened.path } : { kind: "unwritable" };
}

/** The announcement is optional: a failure is only reported, since the invite URL still works. */
async function announce(context: CliContext, port: number): Promise<() => Promise<void>> {
  const { hostName, version } = context;
  let isReported = false;
  return context.mdns.announce({ hostName, port, version }, ipv4Addresses(context), (reason) => {
    if (isReported) return;
    isReported = true;
    context.stderr.write(
      `! The hub is not announced on the network (${safe(reason)}); share the invite URL instead\n`,
    );
  });
}

/** Of `host` and `lan`, the one with precedence wins; on a tie, the host. */
function listenHost(context: CliContext, { settings }: HubConfig): string | undefined {
  const { host, lan } = settings;
  if (host.value !== undefined && (lan.value !== true || hasPrecedence(host, lan)))
    return host.value;
  if (lan.value !== true) return undefined;
  return context.hasIpv6 ? "::" : "0.0.0.0";
}

/** The default state file belongs to a port, so a hub on a random port keeps rooms only in a named file. */
export function isEphemeral({ settings }: HubConfig): boolean {
  const { ephemeral, stateFile, port } = settings;
  if (stateFile.value === undefined) return ephemeral.value === true || port.value === 0;
  return ephemeral.value === true && hasPrecedence(ephemeral, stateFile);
}

function sharedUrlsOf(
  context: CliContext,
  { host, publicUrl }: HubOptions,
  advertisedUrl: string | undefined,
  port: number,
): LaunchedHub["sharedUrls"] {
  const givenUrl = publicUrl ?? advertisedUrl;
  if (givenUrl !== undefined) {
    const label = publicUrl === undefined ? "advertised" : "public";
    return [{ url: givenUrl.replace(/\/+$/, ""), label }];
  }
  if (host === undefined || isLoopback(host)) return [];
  if (!isWildcard(host)) return [{ url: urlOf(host, port), label: "this address" }];
  return context
    .lanAddresses()
    .map(({ address, interfaceName }) => ({ url: urlOf(address, port), label: interfaceName }));
}

/** Interrupted requests are a failure even on a requested stop. @throws CommandError */
export function failOnCutRequests(cut: number): void {
  if (cut === 0) return;
  throw new CommandError(
    `${countOf(cut, "request")} ${cut === 1 ? "was" : "were"} interrupted by the shutdown`,
    "allow running requests more time: --limit drainMs=5min",
  );
}

function blockedPort(port: number): CommandError {
  return new CommandError(
    `Port ${port} belongs to another protocol; browsers and Node block it`,
    `choose another: --port ${defaultPort}`,
    EXIT.usage,
  );
}

async function explainListenFailure(
  context: CliContext,
  error: unknown,
  port: number,
  host: string | undefined,
): Promise<unknown> {
  const code = codeOf(error);
  // Rooms are loaded before the port is opened, so a second hub on a port finds the first one's lock.
  const isLocked = error instanceof Error && error.name === "StateFileLockedError";
  if (code === "EACCES") {
    return new CommandError(
      `This user is not permitted to open port ${port}`,
      `choose one above 1023: --port ${defaultPort}`,
    );
  }
  if (code === "EADDRNOTAVAIL") {
    const known = context.lanAddresses().map(({ address }) => address);
    return new CommandError(
      `This machine has no address ${host ?? ""}`,
      `its addresses: ${["127.0.0.1", ...known].join(", ")}; or --lan for all of them`,
    );
  }
  if (error instanceof Error && error.name === "DirectoryUnavailable") {
    return new CommandError(error.message.replace(/\.$/, ""), "start it, or check --nats");
  }
  if (error instanceof Error && error.name === "HubIdTaken") {
    const hint = "give each hub a URL of its own: --advertise, and --link-url if it has one";
    return new CommandError(error.message.replace(/\.$/, ""), hint);
  }
  if (code !== "EADDRINUSE" && !isLocked) return error;
  const url = urlOf(isLoopbackReachable(host) ? "127.0.0.1" : (host ?? ""), port);
  const other = `choose another port: --port ${port === 65_535 ? defaultPort : port + 1}`;
  const hub = await hubAt(context, url);
  if (hub !== undefined) return explainOtherHub(context, hub, url, other);
  return isLocked ? error : new CommandError(`Port ${port} is in use by another program`, other);
}

/** @returns undefined when the program on the port is not a hub */
async function hubAt(context: CliContext, url: string): Promise<HealthResponse | undefined> {
  try {
    const signal = AbortSignal.timeout(healthTimeoutMs);
    const health = await context.createClient(url).health({ signal });
    // Other programs may serve a health endpoint of another shape.
    return HealthResponse.safeParse(health).data;
  } catch {
    // No response, or no JSON: not a hub.
    return undefined;
  }
}

function explainOtherHub(
  { commandName }: CliContext,
  { version, status }: HealthResponse,
  url: string,
  other: string,
): CommandError {
  const who = `A roomhub hub (${version})`;
  if (status === "draining") {
    return new CommandError(
      `${who} at ${url} is still stopping`,
      `wait until it has stopped; or ${other}`,
    );
  }
  return new CommandError(
    `${who} is already running at ${url}`,
    `use it, or ${other}`,
    EXIT.failure,
    [
      `${commandName} join ${url}  # share a model there`,
      `${commandName} room list --hub ${url}  # see its rooms`,
    ],
  );
}

/** Node sets the code on its error, which a hub may wrap. */
function codeOf(error: unknown): string | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    const code = (current as { code?: unknown }).code;
    if (typeof code === "string" && isListening(current)) return code;
  }
  return undefined;
}

function isListening(error: Error): boolean {
  return (error as { syscall?: unknown }).syscall === "listen";
}
