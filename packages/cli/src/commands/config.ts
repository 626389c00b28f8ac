import { LIMIT_NAMES, limitEnvName, LIMITS } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { configFileSchema } from "../hosting/config-file.ts";
import {
  type HubConfig,
  overriddenLimits,
  resolveHubConfig,
  isEphemeral,
} from "../hosting/hub-config.ts";
import {
  addHubFlags,
  HUB_SETTINGS,
  type HubFlagValues,
  SETTING_NAMES,
  settingEnvName,
  type SettingName,
} from "../hosting/hub-settings.ts";
import { formatLimit } from "../hosting/limit-value.ts";
import { shownNatsUrl } from "../cluster/cluster-directory.ts";
import { type RoomhubCommand } from "../options.ts";
import { formatTable, safe, writeJson } from "../terminal/text.ts";

interface ConfigOptionValues extends HubFlagValues {
  limits?: boolean;
  schema?: boolean;
  json?: boolean;
}

/** Shown for a setting without a value. */
const unset: Partial<Record<SettingName, string>> = {
  host: "this machine only",
  stateFile: "none: rooms are not kept",
  publicUrl: "none",
  trustProxy: "none",
  logFormat: "text (up: a table on a terminal)",
};

export function addConfigCommand(program: RoomhubCommand, context: CliContext): void {
  addHubFlags(program.command("config"))
    .jsonOption()
    .option("--limits", "list every limit, not only changed ones")
    .option("--schema", "print the JSON Schema of the config file, for editors")
    .examples("roomhub config --limits", "roomhub config --limit rooms=50 --json")
    .action((values: ConfigOptionValues) => showConfig(context, values));
}

async function showConfig(context: CliContext, values: ConfigOptionValues): Promise<void> {
  if (values.schema === true) return writeJson(context.stdout, configFileSchema());
  const config = await asShown(context, await resolveHubConfig(context, values));
  if (values.json === true) return writeJson(context.stdout, configJson(config));
  context.stdout.write(settingsTable(config));
  const changed = overriddenLimits(config);
  const names = LIMIT_NAMES.filter((name) => values.limits === true || name in changed);
  if (names.length > 0) context.stdout.write(`\n${limitsTable(config, names)}`);
  const file = config.file === undefined ? "No config file" : `Config file: ${safe(config.file)}`;
  const count = Object.keys(changed).length;
  const gap = context.stdout.isTTY ? "\n" : "";
  context.stderr.write(
    `${gap}${file}; ${count} of ${LIMIT_NAMES.length} limits set${values.limits === true ? "" : "; --limits lists all"}\n`,
  );
}

/** Fills in the default state file, or no value when none is used. Passwords of NATS are not shown. */
async function asShown(context: CliContext, config: HubConfig): Promise<HubConfig> {
  const { stateFile, port } = config.settings;
  const { nats } = config.settings;
  const value =
    isEphemeral(config) || nats.value !== undefined
      ? undefined
      : (stateFile.value ?? (await context.usualStatePath(port.value ?? 0)));
  const shown = {
    stateFile: { ...stateFile, value },
    nats: { ...nats, value: nats.value?.map(shownNatsUrl) },
  };
  return { ...config, settings: { ...config.settings, ...shown } };
}

function configJson({ settings, limits, file }: HubConfig): object {
  return {
    file: file ?? null,
    settings: Object.fromEntries(
      SETTING_NAMES.map((name) => {
        const { value, from } = settings[name];
        return [name, { value: value ?? null, from, env: settingEnvName(name) }];
      }),
    ),
    limits: Object.fromEntries(
      LIMIT_NAMES.map((name) => {
        const { default: usual, unit, what } = LIMITS[name];
        return [name, { ...limits[name], default: usual, unit, env: limitEnvName(name), what }];
      }),
    ),
  };
}

function settingsTable({ settings }: HubConfig): string {
  return formatTable(
    ["setting", "from", "flag", "environment", "value"],
    SETTING_NAMES.map((name) => {
      const { value, from } = settings[name];
      const text = value === undefined ? (unset[name] ?? "none") : safe(value);
      const flag = HUB_SETTINGS[name].flag.split(" ", 1)[0] ?? "";
      return [name, from, flag, settingEnvName(name), text];
    }),
  );
}

function limitsTable({ limits }: HubConfig, names: typeof LIMIT_NAMES): string {
  return formatTable(
    ["limit", "value", "from", "unit", "environment", "meaning"],
    names.map((name) => {
      const { value, from } = limits[name];
      const { unit, what } = LIMITS[name];
      return [name, formatLimit(name, value), from, unit, limitEnvName(name), what];
    }),
  );
}
