import type { Command } from "commander";
import { Option } from "commander";
import type { CliContext } from "./context.ts";
import { CommandError, UsageError } from "./exit-code.ts";
import { isSwitchedOn, limitsFromEnv, listArgument, portArgument } from "./options.ts";
import type { HubOptions, LogFormat, OwnershipMode, RunningHub } from "./services.ts";

/** What `serve` and `up` take about the hub they start. */
export interface HubLaunchValues {
  host?: string;
  port?: number;
  lan?: boolean;
  stateFile?: string;
  ephemeral?: boolean;
  /** false with `--no-direct` */
  direct?: boolean;
  publicUrl?: string;
  trustProxy?: string[];
  ownership?: OwnershipMode;
  logFormat?: LogFormat;
  json?: boolean;
}

const defaultPort = 5050;

export function addHubLaunchOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--port <number>", "port to listen on; 0 takes a free one (default: 5050)")
        .env("ROOMHUB_PORT")
        .argParser(portArgument),
    )
    .addOption(new Option("--host <address>", "listen on this address only").env("ROOMHUB_HOST"))
    .option("--lan", "let other machines reach it (env: ROOMHUB_LAN=1)")
    .addOption(
      new Option("--state-file <path>", "where rooms outlive the hub").env("ROOMHUB_STATE_FILE"),
    )
    .option("--ephemeral", "forget rooms when the hub stops (env: ROOMHUB_EPHEMERAL=1)")
    .option("--no-direct", "never dial participants' endpoints (env: ROOMHUB_DIRECT=0)")
    .addOption(
      new Option("--public-url <url>", "how others reach the hub, when behind a proxy").env(
        "ROOMHUB_PUBLIC_URL",
      ),
    )
    .addOption(
      new Option("--trust-proxy <cidrs>", "proxies whose X-Forwarded-* headers are believed")
        .env("ROOMHUB_TRUST_PROXY")
        .argParser(listArgument),
    )
    .addOption(
      new Option("--ownership <mode>", "who may change a participant (default: compat)")
        .env("ROOMHUB_OWNERSHIP")
        .choices(["compat", "strict", "open"]),
    )
    .addOption(
      new Option("--log-format <format>", "the log on stdout (default: text)")
        .env("ROOMHUB_LOG_FORMAT")
        .choices(["text", "json"]),
    );
}

/** A hub that listens, and what is to be said about it. */
export interface LaunchedHub {
  hub: RunningHub;
  port: number;
  /** How this machine reaches it. */
  localUrl: string;
  /** How others reach it; empty when they cannot. */
  sharedUrls: { url: string; label: string }[];
  /** undefined when rooms are forgotten */
  statePath: string | undefined;
}

/**
 * Starts a hub as the options say. The caller closes it.
 *
 * @throws CommandError when the port is taken, with what to do about it
 */
export async function launchHub(
  context: CliContext,
  values: HubLaunchValues,
  logFormat: LogFormat,
): Promise<LaunchedHub> {
  const host = listenHost(context, values);
  const port = values.port ?? defaultPort;
  const opened = isEphemeral(context, values, port)
    ? undefined
    : await context.openRoomStore(values.stateFile, port, (warning) => {
        context.stderr.write(`${warning}\n`);
      });
  const options: HubOptions = {
    host,
    port,
    store: opened?.store,
    direct: values.direct === false ? false : isDirect(context),
    ownership: values.ownership,
    publicUrl: values.publicUrl,
    trustProxy: values.trustProxy,
    limits: limitsFromEnv(context.env),
    logFormat,
  };
  const hub = await context.createHub(options);
  try {
    const listening = await hub.listen();
    const localUrl = urlOf(isLoopbackReachable(host) ? "127.0.0.1" : (host ?? ""), listening.port);
    const sharedUrls = sharedUrlsOf(context, options, listening.port);
    return { hub, port: listening.port, localUrl, sharedUrls, statePath: opened?.path };
  } catch (error) {
    await hub.close();
    throw await explainListenFailure(context, error, port, host);
  }
}

/** `--host` wins over `--lan`; neither means this machine only, which is the hub's own default. */
function listenHost(context: CliContext, values: HubLaunchValues): string | undefined {
  if (values.host !== undefined) return values.host;
  if (!isSwitchedOn(context, values.lan, "ROOMHUB_LAN")) return undefined;
  return context.hasIpv6 ? "::" : "0.0.0.0";
}

/** A hub on a port of chance cannot find its rooms again, unless it is told where they are. */
function isEphemeral(context: CliContext, values: HubLaunchValues, port: number): boolean {
  if (values.ephemeral === true) return true;
  if (values.stateFile !== undefined) return false;
  return port === 0 || isSwitchedOn(context, undefined, "ROOMHUB_EPHEMERAL");
}

function isDirect(context: CliContext): boolean {
  const text = context.env["ROOMHUB_DIRECT"] ?? "";
  return text === "" || isSwitchedOn(context, undefined, "ROOMHUB_DIRECT");
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
  if (code !== "EADDRINUSE" && !isLocked) return error;
  const other = `another port: --port ${port === 65_535 ? defaultPort : port + 1}`;
  const url = urlOf(isLoopbackReachable(host) ? "127.0.0.1" : (host ?? ""), port);
  try {
    const { version } = await context
      .createClient(url)
      .health({ signal: AbortSignal.timeout(1000) });
    if (version === undefined) throw new UsageError("no hub");
    return new CommandError(
      `A roomhub hub (${version}) already runs at ${url}`,
      `use it: ${context.commandName} room list --hub ${url}; or choose ${other}`,
    );
  } catch {
    // Whoever it is, it is no hub of ours.
    if (isLocked) return error;
    return new CommandError(`Port ${port} is taken by another program`, `choose ${other}`);
  }
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
