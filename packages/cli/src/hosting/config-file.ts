import {
  LIMIT_NAMES,
  type LimitName,
  limitProblem,
  LIMITS,
  isObject,
  type JsonObject,
} from "@roomhub/protocol";
import { z } from "zod";
import type { CliContext } from "../context.ts";
import { UsageError } from "../exit-code.ts";
import { HUB_SETTINGS, SETTING_NAMES, type SettingName } from "./hub-settings.ts";
import { meantSetting, nearest } from "../terminal/nearest.ts";
import { reasonOf } from "../terminal/text.ts";

const defaultFile = "roomhub.config.json";

/**
 * The config file: a JSON object with the long flags in camelCase as keys, `limits` by name, and `$schema` for editors.
 *
 * @param path - undefined for `roomhub.config.json` in the working directory, which may be missing
 * @throws UsageError for an unreadable file, or its first unknown key or wrong type
 */
export async function readConfigFile(context: CliContext, path: string | undefined) {
  const text = await readText(context, path);
  if (text === undefined) return undefined;
  const file = path ?? defaultFile;
  const object = settingsIn(file, text);
  const { limits = {}, $schema: _, ...settings } = object;
  for (const [key, value] of Object.entries(settings)) checkSetting(file, key, value);
  if (!isObject(limits)) throw new UsageError(`${file}: limits must be an object`);
  for (const [key, value] of Object.entries(limits)) checkLimit(file, key, value);
  return { path: file, settings, limits };
}

/** The JSON Schema of the config file, for editors. */
export function configFileSchema(): object {
  const settings = SETTING_NAMES.map((name) => {
    const { kind, flag, what, fallback } = HUB_SETTINGS[name];
    const meaning = what.replace(/ \(default: .*\)$/, "");
    const description = flag.startsWith("--no-") ? `false: ${meaning}` : meaning;
    return [name, kind.schema.meta({ description, default: fallback })] as const;
  });
  const limits = LIMIT_NAMES.map((name) => {
    const { what, unit, min = 0, max = Number.MAX_SAFE_INTEGER } = LIMITS[name];
    const description = unit === "count" ? what : `${what}, in ${unit}`;
    const meta = { description, default: LIMITS[name].default };
    return [name, z.int().min(min).max(max).meta(meta)] as const;
  });
  const file = z.strictObject({
    $schema: z.string(),
    ...Object.fromEntries(settings),
    limits: z.strictObject(Object.fromEntries(limits)).partial(),
  });
  return z.toJSONSchema(file.partial());
}

async function readText(
  context: CliContext,
  path: string | undefined,
): Promise<string | undefined> {
  try {
    return await context.readFile(path ?? defaultFile);
  } catch (error) {
    const isMissing = (error as { code?: unknown }).code === "ENOENT";
    if (path === undefined && isMissing) return undefined;
    throw new UsageError(
      `The config file ${path ?? defaultFile} cannot be read: ${reasonOf(error)}`,
    );
  }
}

function settingsIn(file: string, text: string): JsonObject {
  let value: unknown;
  try {
    // Editors on Windows begin a file with a byte order mark.
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new UsageError(`${file} is not valid JSON: ${(error as Error).message}`);
  }
  if (!isObject(value)) throw new UsageError(`${file} must be a JSON object`);
  return value;
}

function checkSetting(file: string, key: string, value: unknown): void {
  const name = SETTING_NAMES.find((known) => known === key);
  if (name === undefined) throw unknownKey(file, key, nearestSetting(key));
  const { kind } = HUB_SETTINGS[name];
  if (!kind.schema.safeParse(value).success) {
    throw new UsageError(`${file}: ${key} must be ${kind.expected}, not ${JSON.stringify(value)}`);
  }
}

/** A limit at the top level is the most likely mistake. */
function nearestSetting(key: string): string | undefined {
  if (LIMIT_NAMES.some((name) => name === key)) return `limits.${key}`;
  return nearest(key, [...SETTING_NAMES, "limits"] satisfies (SettingName | "limits")[]);
}

function checkLimit(file: string, key: string, value: unknown): void {
  const name: LimitName | undefined = LIMIT_NAMES.find((known) => known === key);
  if (name === undefined) {
    const meant = nearest(key, LIMIT_NAMES);
    throw unknownKey(file, `limits.${key}`, meant && `limits.${meant}`);
  }
  const problem = limitProblem(name, typeof value === "number" ? value : NaN);
  if (problem !== undefined) {
    throw new UsageError(`${file}: limits.${key} ${problem}, not ${JSON.stringify(value)}`);
  }
}

function unknownKey(file: string, key: string, meant: string | undefined): UsageError {
  return new UsageError(`${file}: unknown setting "${key}"; ${meantSetting(meant)}`);
}
