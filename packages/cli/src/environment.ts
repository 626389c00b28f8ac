import { LIMIT_NAMES, limitEnvName, type Limits } from "@roomhub/protocol";
import type { CliContext } from "./context.ts";
import { UsageError } from "./exit-code.ts";
import {
  HUB_SETTINGS,
  type HubSettings,
  SETTING_NAMES,
  settingEnvName,
} from "./hosting/hub-settings.ts";
import { parseLimitValue } from "./hosting/limit-value.ts";
import { meantSetting, nearest } from "./terminal/nearest.ts";
import { switchFromText } from "./switch-text.ts";

type Env = CliContext["env"];

/** Variables that are neither a setting nor a limit. */
const otherVariables = [
  "ROOMHUB_CONFIG",
  "ROOMHUB_DEBUG",
  "ROOMHUB_HEAP_GROWTH",
  "ROOMHUB_INFORMATIONAL",
  "ROOMHUB_KEY",
  "ROOMHUB_PASSWORD",
  "ROOMHUB_URL",
];

export const KNOWN_VARIABLES: readonly string[] = [
  ...SETTING_NAMES.map(settingEnvName),
  ...LIMIT_NAMES.map(limitEnvName),
  ...otherVariables,
];

/**
 * Rejects mistyped variables, which would otherwise be ignored silently, and a bad `ROOMHUB_HEAP_GROWTH`, which is read
 * before errors can be reported.
 *
 * @param named - variables that the command line itself names, as `--password-env` does
 * @throws UsageError with the likely variable
 */
export function checkVariables(env: Env, named: readonly string[]): void {
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith("ROOMHUB_") || (value ?? "") === "") continue;
    if (KNOWN_VARIABLES.includes(name) || named.includes(name)) continue;
    if (isServiceLink(name, value)) continue;
    // Compared without the common prefix, which would make every short name similar.
    const prefix = "ROOMHUB_";
    const known = KNOWN_VARIABLES.map((one) => one.slice(prefix.length));
    const near = nearest(name.slice(prefix.length), known);
    const meant = near && prefix + near;
    throw new UsageError(`${name} is not a roomhub variable; ${meantSetting(meant)}`);
  }
  switchFromEnv(env, "ROOMHUB_HEAP_GROWTH");
}

/**
 * Kubernetes sets the address of a service named `roomhub` in every container: `ROOMHUB_PORT=tcp://10.0.0.1:5050`,
 * `ROOMHUB_SERVICE_HOST` and others. https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
function isServiceLink(name: string, value: string | undefined): boolean {
  if (name.endsWith("_PORT") && !name.endsWith("_SERVICE_PORT"))
    return /^(?:tcp|udp|sctp):\/\//.test(value ?? "");
  return /_SERVICE_(?:HOST|PORT(?:_\w+)?)$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?$/.test(name);
}

/** A variable's text; undefined when it is empty, as in compose files, or set by Kubernetes. */
function textOf(env: Env, name: string): string | undefined {
  const text = env[name];
  return text === "" || isServiceLink(name, text) ? undefined : text;
}

/** @throws UsageError that names the variable */
export function settingsFromEnv(env: Env): Partial<HubSettings> {
  return Object.fromEntries(
    SETTING_NAMES.flatMap((name) => {
      const variable = settingEnvName(name);
      const text = textOf(env, variable);
      if (text === undefined) return [];
      const { kind } = HUB_SETTINGS[name];
      const value = kind.fromText(text);
      if (value !== undefined) return [[name, value]];
      throw new UsageError(`${variable} must be ${kind.expected}, not "${text}"`);
    }),
  );
}

/** The limits that the environment overrides: `ROOMHUB_QUEUE_WAIT_MS=5s`. Contract §6. @throws UsageError */
export function limitsFromEnv(env: Env): Partial<Limits> {
  const limits: Partial<Limits> = {};
  for (const name of LIMIT_NAMES) {
    const text = textOf(env, limitEnvName(name));
    if (text !== undefined) limits[name] = parseLimitValue(name, text, limitEnvName(name));
  }
  const isOff = switchFromEnv(env, "ROOMHUB_INFORMATIONAL") === false;
  return isOff ? { ...limits, informationalMs: 0 } : limits;
}

/** @returns undefined when the variable is not set. @throws UsageError */
function switchFromEnv(env: Env, name: string): boolean | undefined {
  const text = textOf(env, name);
  if (text === undefined) return undefined;
  const isOn = switchFromText(text);
  if (isOn === undefined) throw new UsageError(`${name} must be on or off, not "${text}"`);
  return isOn;
}

/** An empty variable, as in compose files, counts as not set. */
export function dropEmptyVariables(env: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(env)) {
    if (name.startsWith("ROOMHUB_") && value === "") delete env[name];
  }
}
