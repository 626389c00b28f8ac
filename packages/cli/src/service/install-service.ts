import { posix } from "node:path";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { KNOWN_VARIABLES } from "../environment.ts";
import { CommandError, EXIT, UsageError } from "../exit-code.ts";
import { HUB_SETTINGS, SETTING_NAMES, settingEnvName } from "../hosting/hub-settings.ts";
import { countOf, safe } from "../terminal/text.ts";
import { keptArguments } from "./kept-arguments.ts";
import { secretsPath, secretsText } from "./secrets-file.ts";
import type { ServiceManager, ServiceUnit } from "./service-unit.ts";
import { launchdManager } from "./launchd.ts";
import { systemdManager } from "./systemd.ts";

/** A command line that a service is to run. */
export interface ServiceRequest {
  name: string;
  /** Whether the unit is only printed. */
  isPrinted: boolean;
  /** `service install serve` or `service install join` */
  command: Command;
  /** the command line as it was given */
  words: readonly string[];
  /** the config file that was found, which may be that of the current folder */
  configFile?: string | undefined;
}

/** Variables of other programs that `serve` and `join` read; in upper and lower case. */
const otherVariables = [
  ...["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"].flatMap((name) => [name, name.toLowerCase()]),
  "OLLAMA_HOST",
  "XDG_STATE_HOME",
];
const pathVariables: ReadonlySet<string> = new Set([
  "ROOMHUB_CONFIG",
  ...SETTING_NAMES.filter((name) => HUB_SETTINGS[name].flag.includes("<path>")).map(settingEnvName),
]);
/** Read before a file can be: it has to be in the environment of the process. */
const earlyVariable = "ROOMHUB_HEAP_GROWTH";

/** Writes the unit and the file of its secrets, and starts the service; one of the same name is replaced. */
export async function installService(context: CliContext, request: ServiceRequest): Promise<void> {
  const { name } = request;
  const manager = await serviceManager(context);
  const { unit, variables, secretsFile } = await unitOf(context, request);
  const text = manager.unitText(unit);
  if (request.isPrinted) {
    context.stdout.write(text);
    return;
  }
  const host = await context.serviceHost();
  const secrets = secretsText(name, variables);
  const isNew = !(await manager.names()).includes(name);
  await host.writeFile(secretsFile, secrets, true);
  await host.writeFile(manager.unitPath(name), text, false);
  try {
    await manager.start(unit);
  } catch (error) {
    // A service that never ran leaves nothing; one that is replaced keeps its files.
    if (isNew) await Promise.all([secretsFile, manager.unitPath(name)].map(host.removeFile));
    throw error;
  }
  context.stderr.write(summary(context, manager, unit, secretsFile, Object.keys(variables)));
}

async function unitOf(
  context: CliContext,
  { name, command, words, configFile }: ServiceRequest,
): Promise<{ unit: ServiceUnit; variables: Record<string, string>; secretsFile: string }> {
  const { program, currentFolder, homeFolder } = await context.serviceHost();
  const absolute = (path: string) => posix.resolve(currentFolder, path);
  const kept = await keptArguments(context, words, command, absolute);
  const args = [...kept.args];
  if (configFile !== undefined && !args.includes("--config")) {
    args.push("--config", absolute(configFile));
  }
  const secretsFile = await secretsPath(context, name);
  const [executable, ...launcher] = program;
  const unit: ServiceUnit = {
    name,
    commandLine: [executable, ...launcher, `--secrets-file=${secretsFile}`, ...args],
    // Paths in a config file may be relative to the folder in which the command is run.
    folder: configFile === undefined ? homeFolder : currentFolder,
  };
  // No service manager can represent them everywhere in a unit.
  if (unit.commandLine.some((word) => /\p{Cc}/u.test(word))) {
    throw new UsageError("The command line of a service cannot contain control characters");
  }
  return {
    unit,
    variables: { ...ownVariables(context, absolute), ...kept.variables },
    secretsFile,
  };
}

/** What `serve` and `join` would read from the environment here, and a service would not have. */
function ownVariables(
  { env }: CliContext,
  absolute: (path: string) => string,
): Record<string, string> {
  const names = [...KNOWN_VARIABLES.filter((one) => one !== earlyVariable), ...otherVariables];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = env[name] ?? "";
      if (value === "") return [];
      return [[name, pathVariables.has(name) ? absolute(value) : value]];
    }),
  );
}

function summary(
  context: CliContext,
  manager: ServiceManager,
  { name, commandLine }: ServiceUnit,
  secretsFile: string,
  variables: readonly string[],
): string {
  const kept = countOf(variables.length, "variable");
  const names = variables.length === 0 ? "" : `: ${safe(variables.join(", "))}`;
  return [
    `Service ${name} is installed and started, as a ${manager.title}`,
    `Unit:     ${manager.unitPath(name)}`,
    `Secrets:  ${secretsFile} (${kept}${names})`,
    ...manager.notes(name),
    ...(commandLine.some((part) => /[\\/]_npx[\\/]/.test(part))
      ? [
          "! It runs from the cache of npx, which npm may clear; to keep it: npm install --global, with the same URL",
        ]
      : []),
    `Its state:  ${context.commandName} service status ${name}`,
    "",
  ].join("\n");
}

/** What this machine has. @throws CommandError when it has none that is supported */
export async function serviceManager(context: CliContext): Promise<ServiceManager> {
  const host = await context.serviceHost();
  switch (host.platform) {
    case "linux":
      return systemdManager(host, context.env["XDG_CONFIG_HOME"]);
    case "darwin":
      return launchdManager(host);
    case "win32":
      throw onWindows(context);
    default:
      throw new CommandError(
        `Services are for Linux and macOS, not for ${host.platform}`,
        `let the machine's own tools run: ${context.commandName} serve`,
      );
  }
}

/** The lines also find and remove a task that an earlier version installed. */
function onWindows({ commandName }: CliContext): CommandError {
  const task = "/TN roomhub\\serve";
  return new CommandError(
    "Services are for Linux and macOS; on Windows the task scheduler starts a program at each login",
    "the same for serve, or any other command:",
    EXIT.failure,
    [
      `schtasks /Create ${task} /SC ONLOGON /TR "${commandName} serve"`,
      `schtasks /Run ${task}`,
      `schtasks /Query ${task}`,
      `schtasks /Delete ${task}`,
    ],
  );
}
