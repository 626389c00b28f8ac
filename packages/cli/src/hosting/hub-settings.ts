import { type Command, InvalidArgumentError, Option } from "commander";
import { z } from "zod";
import { collect, moveToHelpAll } from "../options.ts";
import type { LogFormat, OwnershipMode, RoomCreators } from "@roomhub/hub";
import { switchFromText } from "../switch-text.ts";

/** The hub's settings for `serve`, `up` and `config`, from flags, the environment or the config file. */
export interface HubSettings {
  host: string;
  port: number;
  lan: boolean;
  mdns: boolean;
  tls: boolean;
  tlsCert: string;
  tlsKey: string;
  tlsOnly: boolean;
  stateFile: string;
  ephemeral: boolean;
  direct: boolean;
  handout: boolean;
  publicUrl: string;
  trustProxy: string[];
  distrustGateway: boolean;
  ownership: OwnershipMode;
  closed: boolean;
  create: RoomCreators;
  streamUsage: boolean;
  logFormat: LogFormat;
  nats: string[];
  advertise: string;
  linkUrl: string;
  clusterSecretFile: string;
  natsCreds: string;
  natsCa: string;
  natsCert: string;
  natsKey: string;
}

export type SettingName = keyof HubSettings;

/** The flags of the command line; flags that were not given are absent. */
export interface HubFlagValues extends Partial<HubSettings> {
  config?: string;
  /** `name=value` each */
  limit?: string[];
}

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
  /** absent when the default depends on other settings */
  fallback?: T;
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
export const HUB_SETTINGS: { [Name in SettingName]: Setting<HubSettings[Name]> } = {
  port: {
    kind: port,
    flag: "--port <number>",
    what: "port to listen on; 0 chooses a free one (default: 5050)",
    fallback: 5050,
  },
  host: {
    kind: text,
    flag: "--host <address>",
    what: "listen on this address only",
  },
  lan: {
    kind: onOff,
    flag: "--lan",
    what: "let other machines connect",
    fallback: false,
  },
  mdns: {
    kind: onOff,
    flag: "--no-mdns",
    what: "with --lan, do not announce the hub on the network",
    fallback: true,
  },
  tls: {
    kind: onOff,
    flag: "--tls",
    what: "serve HTTPS, too, on the same port, with a certificate whose key invites pin; up --lan does so unless --no-tls",
    fallback: false,
  },
  tlsCert: {
    kind: text,
    flag: "--tls-cert <path>",
    what: "serve HTTPS, too, on the same port: certificate with its chain, PEM",
  },
  tlsKey: {
    kind: text,
    flag: "--tls-key <path>",
    what: "the key of that certificate, PEM",
  },
  tlsOnly: {
    kind: onOff,
    flag: "--tls-only",
    what: "refuse plain HTTP",
    fallback: false,
  },
  stateFile: {
    kind: text,
    flag: "--state-file <path>",
    what: "file that keeps rooms across restarts",
  },
  ephemeral: {
    kind: onOff,
    flag: "--ephemeral",
    what: "do not keep rooms when the hub stops",
    fallback: false,
  },
  direct: {
    kind: onOff,
    flag: "--no-direct",
    what: "never call participants' endpoints directly",
    fallback: true,
  },
  handout: {
    kind: onOff,
    flag: "--no-handout",
    what: "do not hand out this program and the monitor",
    fallback: true,
  },
  publicUrl: {
    kind: text,
    flag: "--public-url <url>",
    what: "the hub's URL for others, when behind a proxy",
  },
  trustProxy: {
    kind: list,
    flag: "--trust-proxy <cidrs>",
    what: "proxies whose X-Forwarded-* headers are trusted",
  },
  distrustGateway: {
    kind: onOff,
    flag: "--distrust-gateway",
    what: "ignore the address of peers at the default gateway",
    fallback: false,
  },
  ownership: {
    kind: oneOf("compat", "strict", "open"),
    flag: "--ownership <mode>",
    what: "who may change a participant (default: compat)",
    fallback: "compat",
  },
  closed: {
    kind: onOff,
    flag: "--closed",
    what: "every new room is closed: its use needs a key",
    fallback: false,
  },
  create: {
    kind: oneOf("anyone", "host"),
    flag: "--create <who>",
    what: "who may create rooms; host: the operator alone (default: anyone)",
    fallback: "anyone",
  },
  streamUsage: {
    kind: onOff,
    flag: "--no-stream-usage",
    what: "do not request usage in streams; pass bytes through unchanged",
    fallback: true,
  },
  logFormat: {
    kind: oneOf("text", "json"),
    flag: "--log-format <format>",
    what: "log format on stdout",
  },
  nats: {
    kind: list,
    flag: "--nats <urls>",
    what: "NATS servers: hubs that share them are a cluster",
  },
  advertise: {
    kind: httpUrl,
    flag: "--advertise <url>",
    what: "this hub's URL for the cluster's participants and hubs",
  },
  linkUrl: {
    kind: httpUrl,
    flag: "--link-url <url>",
    what: "this hub's URL for the cluster's hubs, if not the advertised one",
  },
  clusterSecretFile: {
    kind: text,
    flag: "--cluster-secret-file <path>",
    what: "secret of the cluster's hubs, at least 32 bytes",
  },
  natsCreds: {
    kind: text,
    flag: "--nats-creds <path>",
    what: "credentials file of the NATS account",
  },
  natsCa: {
    kind: text,
    flag: "--nats-ca <path>",
    what: "certificate authority of the NATS servers, PEM",
  },
  natsCert: {
    kind: text,
    flag: "--nats-cert <path>",
    what: "this hub's certificate for NATS, PEM",
  },
  natsKey: {
    kind: text,
    flag: "--nats-key <path>",
    what: "the key of that certificate, PEM",
  },
};

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
export function addHubFlags(command: Command, usual = SETTING_NAMES): Command {
  for (const name of SETTING_NAMES) addFlag(command, name, HUB_SETTINGS[name]);
  const limit = "set a limit, such as rooms=50 (repeatable)";
  addConfigFlag(command.option("--limit <name=value>", limit, collect));
  const flags = new Set(usual.map((name) => HUB_SETTINGS[name].flag));
  const rare = SETTING_NAMES.map((name) => HUB_SETTINGS[name].flag).filter((it) => !flags.has(it));
  return rare.length === 0 ? command : moveToHelpAll(command, rare);
}

/** The flags that say where the cluster's NATS is, for commands that run no hub. */
export function addNatsFlags(command: Command): Command {
  for (const name of ["nats", "natsCreds", "natsCa", "natsCert", "natsKey"] as const)
    addFlag(command, name, HUB_SETTINGS[name]);
  return addConfigFlag(command);
}

function addConfigFlag(command: Command): Command {
  return command.option(
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
