import { type Command, InvalidArgumentError, Option } from "commander";
import { collect } from "../options.ts";
import type { LogFormat, OwnershipMode } from "../services.ts";

/** What `serve`, `up` and `config` take about a hub, from flags, the environment or the config file. */
export interface HubSettings {
  host: string;
  port: number;
  lan: boolean;
  mdns: boolean;
  stateFile: string;
  ephemeral: boolean;
  direct: boolean;
  publicUrl: string;
  trustProxy: string[];
  ownership: OwnershipMode;
  streamUsage: boolean;
  logFormat: LogFormat;
}

export type SettingName = keyof HubSettings;

/** The flags as the command line gives them; what was not given is not there. */
export interface HubFlagValues extends Partial<HubSettings> {
  config?: string;
  /** `name=value` each */
  limit?: string[];
}

/** One kind of value and the two ways to write it. */
interface SettingKind<T> {
  /** ends the sentence "… must be" */
  wants: string;
  /** Of a flag or a variable. @returns undefined when the text is none */
  fromText: (text: string) => T | undefined;
  /** of the config file */
  isValue: (value: unknown) => value is T;
}

interface Setting<T> {
  kind: SettingKind<T>;
  flag: string;
  what: string;
  /** undefined where it depends */
  fallback: T | undefined;
  /** The opposite of a switch, so that a flag can take back what is set further away. */
  opposite?: string;
}

const text: SettingKind<string> = {
  wants: "a text that is not empty",
  fromText: (given) => (given === "" ? undefined : given),
  isValue: (value): value is string => typeof value === "string" && value !== "",
};

const port: SettingKind<number> = {
  wants: "a number from 0 to 65535",
  fromText: (given) => (/^\d+$/.test(given) && Number(given) <= 65_535 ? Number(given) : undefined),
  isValue: (value): value is number =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535,
};

const onOff: SettingKind<boolean> = {
  wants: "true or false",
  fromText: (given) => switchFromText(given),
  isValue: (value): value is boolean => typeof value === "boolean",
};

const list: SettingKind<string[]> = {
  wants: "a list of texts",
  fromText: (given) =>
    given
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== ""),
  isValue: (value): value is string[] => Array.isArray(value) && value.every(text.isValue),
};

function oneOf<T extends string>(...choices: T[]): SettingKind<T> {
  const find = (given: unknown) => choices.find((choice) => choice === given);
  return {
    wants: `one of ${choices.join(", ")}`,
    fromText: find,
    isValue: (value): value is T => find(value) !== undefined,
  };
}

/** In the order in which they are listed. The name is the long flag's in camelCase, and the config file's key. */
export const HUB_SETTINGS: { [Name in SettingName]: Setting<HubSettings[Name]> } = {
  port: {
    kind: port,
    flag: "--port <number>",
    what: "port to listen on; 0 takes a free one (default: 5050)",
    fallback: 5050,
  },
  host: {
    kind: text,
    flag: "--host <address>",
    what: "listen on this address only",
    fallback: undefined,
  },
  lan: {
    kind: onOff,
    flag: "--lan",
    what: "let other machines reach it",
    fallback: false,
    opposite: "--no-lan",
  },
  mdns: {
    kind: onOff,
    flag: "--no-mdns",
    what: "with --lan, do not announce the hub on the network",
    fallback: true,
    opposite: "--mdns",
  },
  stateFile: {
    kind: text,
    flag: "--state-file <path>",
    what: "where rooms outlive the hub",
    fallback: undefined,
  },
  ephemeral: {
    kind: onOff,
    flag: "--ephemeral",
    what: "forget rooms when the hub stops",
    fallback: false,
    opposite: "--no-ephemeral",
  },
  direct: {
    kind: onOff,
    flag: "--no-direct",
    what: "never dial participants' endpoints",
    fallback: true,
    opposite: "--direct",
  },
  publicUrl: {
    kind: text,
    flag: "--public-url <url>",
    what: "how others reach the hub, when behind a proxy",
    fallback: undefined,
  },
  trustProxy: {
    kind: list,
    flag: "--trust-proxy <cidrs>",
    what: "proxies whose X-Forwarded-* headers are believed",
    fallback: undefined,
  },
  ownership: {
    kind: oneOf("compat", "strict", "open"),
    flag: "--ownership <mode>",
    what: "who may change a participant: compat, strict or open (default: compat)",
    fallback: "compat",
  },
  streamUsage: {
    kind: onOff,
    flag: "--no-stream-usage",
    what: "never ask a provider for a stream's usage: bytes pass as they are",
    fallback: true,
    opposite: "--stream-usage",
  },
  logFormat: {
    kind: oneOf("text", "json"),
    flag: "--log-format <format>",
    what: "the log on stdout: text or json",
    fallback: undefined,
  },
};

export const SETTING_NAMES = Object.keys(HUB_SETTINGS) as SettingName[];

/** `stateFile` → `ROOMHUB_STATE_FILE`. */
export function settingEnvName(name: SettingName): string {
  return `ROOMHUB_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** All switches take the same words. @returns undefined for any other */
export function switchFromText(given: string): boolean | undefined {
  const word = given.toLowerCase();
  if (["1", "true", "yes", "on"].includes(word)) return true;
  return ["0", "false", "no", "off"].includes(word) ? false : undefined;
}

/** Variables are not commander's business here: it would not know what came from where. */
export function addHubFlags(command: Command): Command {
  for (const name of SETTING_NAMES) addFlag(command, name, HUB_SETTINGS[name]);
  return command
    .option("--limit <name=value>", "change a limit, such as rooms=50 (repeatable)", collect)
    .option(
      "--config <file>",
      "read settings from here (default: roomhub.config.json, if there; env: ROOMHUB_CONFIG)",
    );
}

function addFlag(command: Command, name: SettingName, setting: Setting<unknown>): void {
  const { kind, flag, what, opposite } = setting;
  const variable = settingEnvName(name);
  if (opposite === undefined) {
    command.addOption(
      new Option(flag, withVariable(what, variable)).argParser((given) => {
        const value = kind.fromText(given);
        if (value === undefined) throw new InvalidArgumentError(`Must be ${kind.wants}.`);
        return value;
      }),
    );
    return;
  }
  const isNegative = flag.startsWith("--no-");
  const shown = new Option(flag, withVariable(what, `${variable}=${isNegative ? 0 : 1}`));
  const hidden = new Option(opposite).hideHelp();
  // A `--no-` that comes first would make the switch on by default, and a default hides what was not given.
  for (const option of isNegative ? [hidden, shown] : [shown, hidden]) command.addOption(option);
}

/** One pair of brackets holds the default and the variable, as commander writes them for the other options. */
function withVariable(what: string, variable: string): string {
  return what.endsWith(")")
    ? `${what.slice(0, -1)}, env: ${variable})`
    : `${what} (env: ${variable})`;
}
