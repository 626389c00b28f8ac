import { HealthResponse, isLoopbackHost, pastedHub } from "@roomhub/protocol";
import type { HubOptions, LogFormat } from "@roomhub/hub";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { ipv4Addresses } from "../rooms/find-rooms.ts";
import { defaultPort, isWildcard, urlOf } from "../rooms/hub-address.ts";
import { hasPrecedence, type HubConfig, isEphemeral, overriddenLimits } from "./hub-config.ts";
import type { OpenedRoomStore, RunningHub } from "../capabilities.ts";
import { type LaunchedTls, prepareTls } from "../tls/hub-tls.ts";
import { joinCluster } from "../cluster/join-cluster.ts";
import { countOf, reasonOf, safe } from "../terminal/text.ts";
import { healthOf } from "../rooms/hub-health.ts";

/** A hub on this machine responds at once; a program that never responds must not delay the error. */
const healthTimeoutMs = 1_000;

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
) {
  const { settings } = config;
  const host = listenHost(context, config);
  const port = settings.port.value ?? defaultPort;
  checkPort(port);
  if (config.file !== undefined) context.stderr.write(`Settings from ${safe(config.file)}\n`);
  const tls = await prepareTls(context, config);
  const cluster = await joinCluster(context, config, host, port);
  const opened = cluster === undefined ? await openStore(context, config, port) : undefined;
  const sharedUrls = (listeningPort: number) =>
    sharedUrlsOf(context, options, { tls, advertisedUrl: settings.advertise.value }, listeningPort);
  const handout = settings.handout.value === true ? await context.createHandout() : undefined;
  const options: HubOptions = {
    ...{ handout, host, port, tls: tls?.options },
    store: opened?.store,
    direct: settings.direct.value,
    ownership: settings.ownership.value,
    ...{ closed: settings.closed.value, create: settings.create.value },
    streamUsage: settings.streamUsage.value,
    publicUrl: settings.publicUrl.value,
    sharedUrl: (listeningPort) => sharedUrls(listeningPort)[0]?.url,
    trustProxy: settings.trustProxy.value,
    sharedAddresses: settings.distrustGateway.value === true ? context.defaultGateways() : [],
    limits: overriddenLimits(config),
    logFormat: settings.logFormat.value ?? defaultLogFormat,
    cluster: cluster?.options,
    adminSecret: await context.operatorSecret(cluster === undefined && isEphemeral(config)),
  };
  const said = { handout: handout !== undefined, pin: tls?.options.pin };
  const hub = await context.createHub(options);
  try {
    const listening = await hub.listen();
    const localUrl = localUrlOf(host, listening.port, options.tls?.only);
    const forOthers = sharedUrls(listening.port);
    const unfollow = tls && followKey(context, tls, hub, localUrl);
    const announcement = isWildcard(host) && settings.mdns.value === true;
    const withdraw = announcement ? await announce(context, listening.port) : async () => {};
    return {
      hub,
      close: async () => {
        unfollow?.();
        await withdraw();
        return hub.close();
      },
      // Its URL on this machine, and those for other machines; empty when they cannot connect.
      ...{ localUrl, sharedUrls: forOthers, port: listening.port },
      /** In lines to paste. */
      pasted: pastedHub(forOthers[0]?.url ?? localUrl, said),
      /** Whether `roomhub join` finds it on the network. */
      isAnnounced: announcement,
      // Whether every new room is closed, and whether the operator alone creates rooms.
      ...{ isClosed: options.closed === true, operatorSecret: options.adminSecret },
      isForOperator: options.create === "host",
      rooms: roomStorage(opened, cluster),
    };
  } catch (error) {
    await hub.close();
    throw await explainListenFailure(context, error, port, host);
  }
}

/** A listening hub, and the facts to print about it. */
export type LaunchedHub = Awaited<ReturnType<typeof launchHub>>;

/**
 * This machine's address is no name of an authority's certificate: this process knows its hub by the key.
 *
 * @returns how to stop
 */
function followKey(
  context: CliContext,
  tls: LaunchedTls,
  hub: Pick<RunningHub, "replaceCertificate">,
  localUrl: string,
): () => void {
  const require = (pin: string) => {
    if (tls.options.only === true) context.pins.require(localUrl, pin);
  };
  require(tls.pin);
  return tls.follow(hub, require);
}

async function openStore(context: CliContext, config: HubConfig, port: number) {
  if (isEphemeral(config)) return undefined;
  const warn = (warning: string) => context.stderr.write(`${warning}\n`);
  return context.openRoomStore(config.settings.stateFile.value, port, warn);
}

function roomStorage(
  opened: OpenedRoomStore | undefined,
  cluster: { servers: string[] } | undefined,
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

/** The setting with the higher precedence, `host` or `lan`, decides; on a tie, `host` does. */
function listenHost(context: CliContext, { settings }: HubConfig): string | undefined {
  const { host, lan } = settings;
  if (host.value !== undefined && (lan.value !== true || hasPrecedence(host, lan)))
    return host.value;
  if (lan.value !== true) return undefined;
  return context.hasIpv6 ? "::" : "0.0.0.0";
}

function sharedUrlsOf(
  context: CliContext,
  { host, publicUrl }: HubOptions,
  { tls, advertisedUrl }: { tls: LaunchedTls | undefined; advertisedUrl: string | undefined },
  port: number,
): { url: string; label: string }[] {
  const givenUrl = publicUrl ?? advertisedUrl;
  if (givenUrl !== undefined) {
    const label = publicUrl === undefined ? "advertised" : "public";
    return [{ url: givenUrl.replace(/\/*(?:#.*)?$/, ""), label }];
  }
  if (host === undefined || (isLoopbackHost(host) && !isWildcard(host))) return [];
  const named = tls?.names ?? [];
  const addresses = isWildcard(host)
    ? context.lanAddresses()
    : [{ address: host, interfaceName: "this address" }];
  return [
    ...named.map((name) => ({ url: urlOf(name, port, true), label: "certificate" })),
    ...addresses.map(({ address, interfaceName }) => ({
      url: urlOf(address, port, tls?.isFor(address)),
      label: interfaceName,
    })),
  ];
}

/** @param host - where a hub listens */
function localUrlOf(host = "localhost", port: number, isTls?: boolean): string {
  return urlOf(isWildcard(host) || host === "localhost" ? "127.0.0.1" : host, port, isTls);
}

/** Interrupted requests are a failure even on a requested stop. @throws CommandError */
export function failOnCutRequests(cut: number): void {
  if (cut === 0) return;
  throw new CommandError(
    `${countOf(cut, "request")} ${cut === 1 ? "was" : "were"} interrupted by the shutdown`,
    "allow running requests more time: --limit drainMs=5min",
  );
}

/** @throws CommandError for a port that clients cannot use */
function checkPort(port: number): void {
  if (isBlockedPort(port)) {
    throw new CommandError(
      `Port ${port} belongs to another protocol; browsers and Node block it`,
      `choose another: --port ${defaultPort}`,
      EXIT.usage,
    );
  }
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
  const url = localUrlOf(host, port);
  const other = `choose another port: --port ${port === 65_535 ? defaultPort : port + 1}`;
  // Other programs may serve a health endpoint of another shape.
  const hub = HealthResponse.safeParse(await healthOf(context, url, healthTimeoutMs)).data;
  if (hub !== undefined) return explainOtherHub(context, hub, url, other);
  return isLocked ? error : new CommandError(`Port ${port} is in use by another program`, other);
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
    if (typeof code === "string" && (current as { syscall?: unknown }).syscall === "listen")
      return code;
  }
  return undefined;
}

/**
 * Ports of other protocols, which `fetch` blocks: a hub there would run, but browsers, participants and this command could
 * not reach it. https://fetch.spec.whatwg.org/#port-blocking
 */
const blockedPorts = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
  103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
  512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
  995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
  6669, 6679, 6697, 10080,
]);

export function isBlockedPort(port: number): boolean {
  return blockedPorts.has(port);
}

/**
 * Makes the program before it is requested, where others can reach the hub, and prints what its digest is: those who run it
 * can compare. The hub does not wait for it.
 *
 * @param isQuiet - only a failure is printed
 */
export async function prepareHandout(
  context: CliContext,
  { hub, pasted, sharedUrls }: LaunchedHub,
  isQuiet: boolean,
): Promise<void> {
  if (!pasted.isHandedOut || sharedUrls.length === 0) return;
  try {
    const sha512 = (await hub.prepareHandout()) ?? "";
    if (!isQuiet) {
      context.stderr.write(`SHA-512 of roomhub-${context.version}.tgz, as handed out: ${sha512}\n`);
    }
  } catch (error) {
    context.stderr.write(
      `! The program is not handed out: ${safe(reasonOf(error))} Others need an installed roomhub\n`,
    );
  }
}
