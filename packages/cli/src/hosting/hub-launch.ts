import { HealthResponse } from "@roomhub/protocol";
import { isBlockedPort } from "./blocked-port.ts";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { ipv4Addresses } from "../rooms/find-rooms.ts";
import { usualPort } from "../rooms/hub-address.ts";
import { type HubConfig, isAsNear, overriddenLimits } from "./hub-config.ts";
import type { HubOptions, LogFormat, OpenedRoomStore, RunningHub } from "../services.ts";
import { countOf, safe } from "../terminal/text.ts";

/** A hub on this machine answers at once; a program that never does must not hold up the error. */
const healthTimeoutMs = 1_000;

/** A hub that listens, and what is to be said about it. */
export interface LaunchedHub {
  close: RunningHub["close"];
  watch: RunningHub["watch"];
  port: number;
  /** How this machine reaches it. */
  localUrl: string;
  /** How others reach it; empty when they cannot. */
  sharedUrls: { url: string; label: string }[];
  /** Whether `roomhub join` finds it on the network by itself. */
  isAnnounced: boolean;
  rooms: RoomStorage;
}

/** What becomes of rooms when the hub stops. `unwritable`: a file was named or usual, and a warning said why it is not used. */
export type RoomStorage =
  | { kind: "kept"; path: string }
  | { kind: "forgotten" }
  | { kind: "unwritable" };

/**
 * Starts a hub as it is configured. The caller closes it.
 *
 * @param usualLogFormat - when nobody says otherwise
 * @throws CommandError when the port is taken, with what to do about it
 */
export async function launchHub(
  context: CliContext,
  config: HubConfig,
  usualLogFormat: LogFormat,
): Promise<LaunchedHub> {
  const { settings } = config;
  const host = listenHost(context, config);
  const port = settings.port.value ?? usualPort;
  if (isBlockedPort(port)) throw blockedPort(port);
  if (config.file !== undefined) context.stderr.write(`Settings from ${safe(config.file)}\n`);
  const opened = isEphemeral(config)
    ? undefined
    : await context.openRoomStore(settings.stateFile.value, port, (warning) => {
        context.stderr.write(`${warning}\n`);
      });
  const options: HubOptions = {
    host,
    port,
    store: opened?.store,
    direct: settings.direct.value,
    ownership: settings.ownership.value,
    streamUsage: settings.streamUsage.value,
    publicUrl: settings.publicUrl.value,
    trustProxy: settings.trustProxy.value,
    limits: overriddenLimits(config),
    logFormat: settings.logFormat.value ?? usualLogFormat,
  };
  const hub = await context.createHub(options);
  try {
    const listening = await hub.listen();
    const localUrl = urlOf(isLoopbackReachable(host) ? "127.0.0.1" : (host ?? ""), listening.port);
    const sharedUrls = sharedUrlsOf(context, options, listening.port);
    const announcement = isWildcard(host ?? "") && settings.mdns.value === true;
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
      isAnnounced: announcement,
      rooms: roomStorage(opened),
    };
  } catch (error) {
    await hub.close();
    throw await explainListenFailure(context, error, port, host);
  }
}

function roomStorage(opened: OpenedRoomStore | undefined): RoomStorage {
  if (opened === undefined) return { kind: "forgotten" };
  return opened.store.isKeeping ? { kind: "kept", path: opened.path } : { kind: "unwritable" };
}

/** Being found is a comfort: where it does not work, that is said, and the invite URL still does. */
async function announce(context: CliContext, port: number): Promise<() => Promise<void>> {
  const { hostName, version } = context;
  let isTold = false;
  return context.mdns.announce({ hostName, port, version }, ipv4Addresses(context), (reason) => {
    if (isTold) return;
    isTold = true;
    context.stderr.write(
      `! Not announced on the network (${safe(reason)}): others join with the invite URL\n`,
    );
  });
}

/** Of address and `lan` the one said nearer wins, the address when both are as near. */
function listenHost(context: CliContext, { settings }: HubConfig): string | undefined {
  const { host, lan } = settings;
  if (host.value !== undefined && (lan.value !== true || isAsNear(host, lan))) return host.value;
  if (lan.value !== true) return undefined;
  return context.hasIpv6 ? "::" : "0.0.0.0";
}

/** A hub on a port of chance cannot find its rooms again, unless it is told where they are. */
export function isEphemeral({ settings }: HubConfig): boolean {
  const { ephemeral, stateFile, port } = settings;
  if (stateFile.value === undefined) return ephemeral.value === true || port.value === 0;
  return ephemeral.value === true && isAsNear(ephemeral, stateFile);
}

function sharedUrlsOf(
  context: CliContext,
  { host, publicUrl }: HubOptions,
  port: number,
): LaunchedHub["sharedUrls"] {
  if (publicUrl !== undefined) return [{ url: publicUrl.replace(/\/+$/, ""), label: "public" }];
  if (host === undefined || isLoopback(host)) return [];
  if (!isWildcard(host)) return [{ url: urlOf(host, port), label: "this address" }];
  return context
    .lanAddresses()
    .map(({ address, interfaceName }) => ({ url: urlOf(address, port), label: interfaceName }));
}

/** Answers that broke off are a failure, also when the stop was asked for. @throws CommandError */
export function failOnCutRequests(cut: number): void {
  if (cut === 0) return;
  throw new CommandError(
    `${countOf(cut, "request")} ${cut === 1 ? "was" : "were"} cut at shutdown`,
    "give running requests longer: --limit drainMs=5min",
  );
}

function blockedPort(port: number): CommandError {
  return new CommandError(
    `Browsers and Node refuse to call port ${port}, which belongs to another protocol`,
    `choose another: --port ${usualPort}`,
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
  // Rooms are loaded before the port is opened, so a second hub on a port meets the first one's lock.
  const isLocked = error instanceof Error && error.name === "StateFileLockedError";
  if (code === "EACCES") {
    return new CommandError(
      `Port ${port} may not be opened by this user`,
      `choose one above 1023: --port ${usualPort}`,
    );
  }
  if (code === "EADDRNOTAVAIL") {
    const known = context.lanAddresses().map(({ address }) => address);
    return new CommandError(
      `This machine has no address ${host ?? ""}`,
      `its addresses: ${["127.0.0.1", ...known].join(", ")}; or --lan for all of them`,
    );
  }
  if (code !== "EADDRINUSE" && !isLocked) return error;
  const url = urlOf(isLoopbackReachable(host) ? "127.0.0.1" : (host ?? ""), port);
  const other = `choose another port: --port ${port === 65_535 ? usualPort : port + 1}`;
  const hub = await hubAt(context, url);
  if (hub !== undefined) return explainOtherHub(context, hub, url, other);
  return isLocked ? error : new CommandError(`Port ${port} is taken by another program`, other);
}

/** @returns undefined when whoever has the port is no hub */
async function hubAt(context: CliContext, url: string): Promise<HealthResponse | undefined> {
  try {
    const signal = AbortSignal.timeout(healthTimeoutMs);
    const health = await context.createClient(url).health({ signal });
    // Other programs tell their health there too, in other words.
    return HealthResponse.safeParse(health).data;
  } catch {
    // Silent, or no JSON: whoever it is, it is no hub of ours.
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
      `${who} still runs at ${url}, and is stopping`,
      `wait until it is gone; or ${other}`,
    );
  }
  return new CommandError(`${who} already runs at ${url}`, `use it, or ${other}`, EXIT.failure, [
    `${commandName} join ${url}  # share a model there`,
    `${commandName} room list --hub ${url}  # see its rooms`,
  ]);
}

/** Node puts the code on the error, a hub may wrap it. */
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

function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

function isLoopbackReachable(host: string | undefined): boolean {
  return host === undefined || isWildcard(host) || host === "localhost";
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
