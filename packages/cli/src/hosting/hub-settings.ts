import { type Command, InvalidArgumentError, Option } from "commander";
import { z } from "zod";
import { collect, moveToHelpAll, type RoomhubCommand } from "../options.ts";
import { switchFromText } from "../switch-text.ts";

/** One kind of value, as text and in the config file. */
interface SettingKind<T> {
  /** completes "… must be" */
  expected: string;
  /** Of a flag or a variable. @returns undefined for an invalid text */
  fromText: (text: string) => T | undefined;
  /** in the config file */
  schema: z.ZodType<T>;
  /** all values, where they are few */
  choices?: readonly string[];
}

interface Setting<T> {
  kind: SettingKind<T>;
  flag: string;
  what: string;
  /** undefined when the default depends on other settings */
  fallback: T | undefined;
}

function setting<T>(kind: SettingKind<T>, flag: string, what: string, fallback?: T): Setting<T> {
  return { kind, flag, what, fallback };
}

const text: SettingKind<string> = {
  expected: "a non-empty string",
  fromText: (given) => (given === "" ? undefined : given),
  schema: z.string().min(1),
};

const port: SettingKind<number> = {
  expected: "a number from 0 to 65535",
  fromText: (given) => (/^\d+$/.test(given) && Number(given) <= 65_535 ? Number(given) : undefined),
  schema: z.int().min(0).max(65_535),
};

const onOff: SettingKind<boolean> = {
  expected: "true or false",
  fromText: (given) => switchFromText(given),
  schema: z.boolean(),
};

const list: SettingKind<string[]> = {
  expected: "a list of strings",
  fromText: (given) =>
    given
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== ""),
  schema: z.array(text.schema),
};

const httpUrl: SettingKind<string> = {
  expected: "an http:// or https:// URL",
  fromText: (given) => (isHttpUrl(given) ? given : undefined),
  schema: z
    .string()
    .regex(/^https?:/i)
    .refine(isHttpUrl),
};

function isHttpUrl(given: string): boolean {
  return ["http:", "https:"].includes(URL.parse(given)?.protocol ?? "");
}

function oneOf<T extends string>(...choices: T[]): SettingKind<T> {
  const find = (given: unknown) => choices.find((choice) => choice === given);
  return {
    expected: `one of ${choices.join(", ")}`,
    fromText: find,
    schema: z.enum(choices),
    choices,
  };
}

/** The settings in the order of the help. A name is the long flag in camelCase, and the config file's key. */
export const HUB_SETTINGS = {
  port: setting(
    port,
    "--port <number>",
    "port to listen on; 0 chooses a free one (default: 5050)",
    5050,
  ),
  host: setting(text, "--host <address>", "listen on this address only"),
  lan: setting(onOff, "--lan", "let other machines connect", false),
  mdns: setting(onOff, "--no-mdns", "with --lan, do not announce the hub on the network", true),
  tls: setting(
    onOff,
    "--tls",
    "serve HTTPS, too, on the same port, with a certificate whose key invites pin; up --lan does so unless --no-tls",
    false,
  ),
  tlsCert: setting(
    text,
    "--tls-cert <path>",
    "serve HTTPS, too, on the same port: certificate with its chain, PEM",
  ),
  tlsKey: setting(text, "--tls-key <path>", "the key of that certificate, PEM"),
  tlsOnly: setting(onOff, "--tls-only", "refuse plain HTTP", false),
  stateFile: setting(text, "--state-file <path>", "file that keeps rooms across restarts"),
  ephemeral: setting(onOff, "--ephemeral", "do not keep rooms when the hub stops", false),
  direct: setting(onOff, "--no-direct", "never call participants' endpoints directly", true),
  handout: setting(onOff, "--no-handout", "do not hand out this program and the monitor", true),
  publicUrl: setting(text, "--public-url <url>", "the hub's URL for others, when behind a proxy"),
  trustProxy: setting(
    list,
    "--trust-proxy <cidrs>",
    "proxies whose X-Forwarded-* headers are trusted",
  ),
  distrustGateway: setting(
    onOff,
    "--distrust-gateway",
    "ignore the address of peers at the default gateway",
    false,
  ),
  ownership: setting(
    oneOf("compat", "strict", "open"),
    "--ownership <mode>",
    "who may change a participant (default: compat)",
    "compat",
  ),
  closed: setting(onOff, "--closed", "every new room is closed: its use needs a key", false),
  create: setting(
    oneOf("anyone", "host"),
    "--create <who>",
    "who may create rooms; host: the operator alone (default: anyone)",
    "anyone",
  ),
  streamUsage: setting(
    onOff,
    "--no-stream-usage",
    "do not request usage in streams; pass bytes through unchanged",
    true,
  ),
  logFormat: setting(oneOf("text", "json"), "--log-format <format>", "log format on stdout"),
  nats: setting(list, "--nats <urls>", "NATS servers: hubs that share them are a cluster"),
  advertise: setting(
    httpUrl,
    "--advertise <url>",
    "this hub's URL for the cluster's participants and hubs",
  ),
  linkUrl: setting(
    httpUrl,
    "--link-url <url>",
    "this hub's URL for the cluster's hubs, if not the advertised one",
  ),
  clusterSecretFile: setting(
    text,
    "--cluster-secret-file <path>",
    "secret of the cluster's hubs, at least 32 bytes",
  ),
  natsCreds: setting(text, "--nats-creds <path>", "credentials file of the NATS account"),
  natsCa: setting(text, "--nats-ca <path>", "certificate authority of the NATS servers, PEM"),
  natsCert: setting(text, "--nats-cert <path>", "this hub's certificate for NATS, PEM"),
  natsKey: setting(text, "--nats-key <path>", "the key of that certificate, PEM"),
};

/** For `serve`, `up` and `config`, from flags, the environment or the config file. */
export type HubSettings = {
  [Name in SettingName]: NonNullable<(typeof HUB_SETTINGS)[Name]["fallback"]>;
};

export type SettingName = keyof typeof HUB_SETTINGS;

/** The flags of the command line; flags that were not given are absent. */
export interface HubFlagValues extends Partial<HubSettings> {
  config?: string;
  /** `name=value` each */
  limit?: string[];
}

export const SETTING_NAMES = Object.keys(HUB_SETTINGS) as SettingName[];

/** `stateFile` → `ROOMHUB_STATE_FILE`. */
export function settingEnvName(name: SettingName): string {
  return `ROOMHUB_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/**
 * Commander reads no variables here, since it would lose where a value comes from.
 *
 * @param usual - the settings in `--help`; the others are in `--help-all`
 */
export function addHubFlags(command: RoomhubCommand, usual = SETTING_NAMES): RoomhubCommand {
  for (const name of SETTING_NAMES) addFlag(command, name, HUB_SETTINGS[name]);
  const limit = "set a limit, such as rooms=50 (repeatable)";
  command.option("--limit <name=value>", limit, collect).with(addConfigFlag);
  const flags = new Set(usual.map((name) => HUB_SETTINGS[name].flag));
  const rare = SETTING_NAMES.map((name) => HUB_SETTINGS[name].flag).filter((it) => !flags.has(it));
  return rare.length === 0 ? command : moveToHelpAll(command, rare);
}

/** The flags that say where the cluster's NATS is, for commands that run no hub. */
export function addNatsFlags(command: RoomhubCommand): void {
  for (const name of ["nats", "natsCreds", "natsCa", "natsCert", "natsKey"] as const)
    addFlag(command, name, HUB_SETTINGS[name]);
  addConfigFlag(command);
}

function addConfigFlag(command: Command): void {
  command.option(
    "--config <file>",
    "config file (default: roomhub.config.json, if present; env: ROOMHUB_CONFIG)",
  );
}

function addFlag(command: Command, name: SettingName, setting: Setting<unknown>): void {
  const { kind, flag, what } = setting;
  const variable = settingEnvName(name);
  if (kind !== onOff) {
    const option = new Option(flag, withVariable(what, variable)).argParser((given) => {
      const value = kind.fromText(given);
      if (value === undefined) throw new InvalidArgumentError(`Must be ${kind.expected}.`);
      return value;
    });
    if (kind.choices !== undefined) option.argChoices = [...kind.choices];
    command.addOption(option);
    return;
  }
  const isNegative = flag.startsWith("--no-");
  const shown = new Option(flag, withVariable(what, `${variable}=${isNegative ? 0 : 1}`));
  // The opposite, to override the environment or the config file.
  const hidden = new Option(
    isNegative ? flag.replace("no-", "") : `--no-${flag.slice(2)}`,
  ).hideHelp();
  // Commander turns a switch on by default when its `--no-` form comes first, and a default hides that no flag was given.
  for (const option of isNegative ? [hidden, shown] : [shown, hidden]) command.addOption(option);
}

/** Puts the default and the variable into one pair of parentheses, as commander does for other options. */
function withVariable(what: string, variable: string): string {
  return what.endsWith(")")
    ? `${what.slice(0, -1)}, env: ${variable})`
    : `${what} (env: ${variable})`;
}
