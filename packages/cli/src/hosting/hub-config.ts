import { LIMIT_NAMES, type LimitName, LIMITS, type Limits } from "@roomhub/protocol";
import { readConfigFile } from "./config-file.ts";
import type { CliContext } from "../context.ts";
import { limitsFromEnv, settingsFromEnv } from "../environment.ts";
import {
  HUB_SETTINGS,
  type HubFlagValues,
  type HubSettings,
  SETTING_NAMES,
  type SettingName,
} from "./hub-settings.ts";
import { parseLimitFlag } from "./limit-value.ts";

/** In order of precedence: a later one wins. */
const origins = ["default", "file", "env", "flag"] as const;
type Origin = (typeof origins)[number];

export interface Effective<T> {
  value: T;
  from: Origin;
}

/** A hub's settings and limits, and where each value comes from. */
export interface HubConfig {
  settings: { [Name in SettingName]: Effective<HubSettings[Name] | undefined> };
  limits: Record<LimitName, Effective<number>>;
  /** undefined when there is none */
  file: string | undefined;
}

/** Config file < environment < flags. @throws UsageError for an invalid value */
export async function resolveHubConfig(
  context: CliContext,
  flags: HubFlagValues,
): Promise<HubConfig> {
  const { env } = context;
  const path = flags.config ?? (env["ROOMHUB_CONFIG"] || undefined);
  const file = await readConfigFile(context, path);
  return {
    settings: layered(SETTING_NAMES, [
      Object.fromEntries(SETTING_NAMES.map((name) => [name, HUB_SETTINGS[name].fallback])),
      file?.settings ?? {},
      settingsFromEnv(env),
      flags,
    ]),
    limits: layered(LIMIT_NAMES, [
      Object.fromEntries(LIMIT_NAMES.map((name) => [name, LIMITS[name].default])),
      file?.limits ?? {},
      limitsFromEnv(env),
      Object.assign({}, ...(flags.limit ?? []).map(parseLimitFlag)) as Partial<Limits>,
    ]) as HubConfig["limits"],
    file: file?.path,
  };
}

/** The limits that are not left at their default. */
export function overriddenLimits({ limits }: HubConfig): Partial<Limits> {
  return Object.fromEntries(
    LIMIT_NAMES.filter((name) => limits[name].from !== "default").map((name) => [
      name,
      limits[name].value,
    ]),
  );
}

/** Whether one setting has at least the precedence of another. */
export function hasPrecedence(one: Effective<unknown>, other: Effective<unknown>): boolean {
  return origins.indexOf(one.from) >= origins.indexOf(other.from);
}

/** The default state file belongs to a port, so a hub on a random port keeps rooms only in a named file. */
export function isEphemeral({ settings }: Pick<HubConfig, "settings">): boolean {
  const { ephemeral, stateFile, port } = settings;
  if (stateFile.value === undefined) return ephemeral.value === true || port.value === 0;
  return ephemeral.value === true && hasPrecedence(ephemeral, stateFile);
}

/** @param layers - one per origin, in the same order */
function layered<Values extends object>(
  names: readonly (keyof Values & string)[],
  layers: readonly Partial<Values>[],
): { [Name in keyof Values]: Effective<Values[Name] | undefined> } {
  const entries = names.map((name) => {
    const index = Math.max(
      layers.findLastIndex((layer) => layer[name] !== undefined),
      0,
    );
    return [name, { value: layers[index]?.[name], from: origins[index] }];
  });
  return Object.fromEntries(entries) as {
    [Name in keyof Values]: Effective<Values[Name] | undefined>;
  };
}
