import { LIMIT_NAMES, limitEnvName, type Limits } from "@roomhub/protocol";
import type { CliContext } from "./context.ts";
import { UsageError } from "./exit-code.ts";
import {
  HUB_SETTINGS,
  type HubSettings,
  SETTING_NAMES,
  settingEnvName,
  switchFromText,
} from "./hosting/hub-settings.ts";
import { parseLimitValue } from "./hosting/limit-value.ts";
import { nearest } from "./terminal/nearest.ts";

type Env = CliContext["env"];

/** Variables that are neither a setting nor a limit. */
const otherVariables = [
  "ROOMHUB_CONFIG",
  "ROOMHUB_DEBUG",
  "ROOMHUB_INFORMATIONAL",
  "ROOMHUB_PASSWORD",
  "ROOMHUB_URL",
];

export const KNOWN_VARIABLES: readonly string[] = [
  ...SETTING_NAMES.map(settingEnvName),
  ...LIMIT_NAMES.map(limitEnvName),
  ...otherVariables,
];

/**
 * A mistyped variable would change nothing and say nothing.
 *
 * @param named - variables that the command line itself names, as `--password-env` does
 * @throws UsageError with what was probably meant
 */
export function rejectUnknownVariables(env: Env, named: readonly string[]): void {
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith("ROOMHUB_") || (value ?? "") === "") continue;
    if (KNOWN_VARIABLES.includes(name) || named.includes(name)) continue;
    if (isServiceLink(name, value)) continue;
    // Compared without what all of them share, or every short name would be near.
    const meant = nearest(
      name.slice("ROOMHUB_".length),
      KNOWN_VARIABLES.map((known) => known.slice("ROOMHUB_".length)),
    );
    const next =
      meant === undefined
        ? "roomhub config --limits lists those it reads"
        : `did you mean ROOMHUB_${meant}?`;
    throw new UsageError(`${name} is not a variable of roomhub; ${next}`);
  }
}

/**
 * Kubernetes tells every container the address of a service named `roomhub` in `ROOMHUB_PORT=tcp://10.0.0.1:5050`,
 * `ROOMHUB_SERVICE_HOST` and their like. https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
function isServiceLink(name: string, value: string | undefined): boolean {
  if (name.endsWith("_PORT") && !name.endsWith("_SERVICE_PORT"))
    return /^(?:tcp|udp|sctp):\/\//.test(value ?? "");
  return /_SERVICE_(?:HOST|PORT(?:_\w+)?)$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?$/.test(name);
}

/** A variable's text; undefined when it is set to nothing, as compose files do it, or meant for somebody else. */
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
      throw new UsageError(`${variable} must be ${kind.wants}, not "${text}"`);
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
  const informational = textOf(env, "ROOMHUB_INFORMATIONAL");
  if (informational === undefined) return limits;
  const isOn = switchFromText(informational);
  if (isOn === undefined) {
    throw new UsageError(`ROOMHUB_INFORMATIONAL must be on or off, not "${informational}"`);
  }
  return isOn ? limits : { ...limits, informationalMs: 0 };
}

/** A variable that is set to nothing, as compose files do it, counts as not set. */
export function dropEmptyVariables(env: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(env)) {
    if (name.startsWith("ROOMHUB_") && value === "") delete env[name];
  }
}
