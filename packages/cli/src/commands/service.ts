import { type Command, InvalidArgumentError } from "commander";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { resolveHubConfig } from "../hosting/hub-config.ts";
import { addHubFlags, type HubFlagValues } from "../hosting/hub-settings.ts";
import { inviteOf, type RoomhubCommand } from "../options.ts";
import { installService, serviceManager } from "../service/install-service.ts";
import { secretsPath } from "../service/secrets-file.ts";
import { isServiceName, type ServiceState } from "../service/service-unit.ts";
import { formatTable, writeJson } from "../terminal/text.ts";
import { addJoinOptions, checkJoinOptions, type JoinOptionValues } from "./join.ts";

interface InstallOptionValues {
  name: string;
  print?: boolean;
}

/** @param words - the command line as it was given: what a service is started with */
export function addServiceCommand(
  program: RoomhubCommand,
  context: CliContext,
  words: readonly string[],
): void {
  const service = program
    .command("service")
    .examples("roomhub service install serve --lan", "roomhub service status");
  addInstallCommands(service, context, words);
  service
    .command("remove")
    .argument("<name>", "the service, as listed by status", serviceNameArgument)
    .description("stop a service and remove its files")
    .examples("roomhub service remove serve")
    .action((name: string) => removeService(context, name));
  service
    .command("status")
    .jsonOption()
    .argument("[name]", "one service (default: all)", serviceNameArgument)
    .description("list services, and whether they run")
    .examples("roomhub service status", "roomhub service status join")
    .action((name: string | undefined, { json }: { json?: boolean }) =>
      showServices(context, name, json === true),
    );
}

function addInstallCommands(
  service: RoomhubCommand,
  context: CliContext,
  words: readonly string[],
): void {
  const install = service
    .command("install")
    .description("install a service that runs serve or join, and start it")
    .examples(
      "roomhub service install serve --lan --port 6060",
      "roomhub service install join http://192.168.1.5:5050/rooms/ABC234",
    );
  const request = (command: Command, { name, print = false }: InstallOptionValues) => ({
    ...{ name, isPrinted: print, command, words },
  });

  const serve = addHubFlags(install.command("serve").description("keep a hub running"))
    .jsonOption()
    .with(installOptions("serve"))
    .examples("roomhub service install serve --lan --port 6060")
    .action(async (values: HubFlagValues & InstallOptionValues) => {
      const { file } = await resolveHubConfig(context, values);
      await installService(context, { ...request(serve, values), configFile: file });
    });

  const join = install
    .command("join")
    .roomArgument()
    .description("keep sharing models of this machine in a room")
    .with(addJoinOptions)
    .with(installOptions("join"))
    .examples(
      "roomhub service install join http://192.168.1.5:5050/rooms/ABC234 \\\n      --model llama3.2 --name lab",
    )
    .action(async (room: string, values: JoinOptionValues & InstallOptionValues) => {
      inviteOf(room, values);
      checkJoinOptions(context, values);
      await installService(context, request(join, values));
    });
}

const installOptions = (usualName: string) => (command: Command) =>
  command
    .option("--name <name>", "name of the service", serviceNameArgument, usualName)
    .option("--print", "print the unit, and write and start nothing");

function serviceNameArgument(text: string): string {
  if (isServiceName(text)) return text;
  throw new InvalidArgumentError(
    "Use 1 to 40 lower case letters, digits and hyphens; begin and end with a letter or digit.",
  );
}

async function removeService(context: CliContext, name: string): Promise<void> {
  const manager = await serviceManager(context);
  if (!(await manager.names()).includes(name)) throw unknownService(context, name);
  await manager.stop(name);
  const host = await context.serviceHost();
  await host.removeFile(manager.unitPath(name));
  await manager.forget(name);
  await host.removeFile(await secretsPath(context, name));
  context.stderr.write(`Service ${name} is removed, with its secrets file\n`);
}

async function showServices(
  context: CliContext,
  name: string | undefined,
  isJson: boolean,
): Promise<void> {
  const manager = await serviceManager(context);
  const names = await manager.names();
  if (name !== undefined && !names.includes(name)) throw unknownService(context, name);
  const shown = await Promise.all(
    (name === undefined ? names : [name]).map(async (each) => ({
      name: each,
      state: await manager.state(each),
      unitPath: manager.unitPath(each),
    })),
  );
  if (isJson) writeJson(context.stdout, { services: shown });
  else if (shown.length > 0) {
    const rows = shown.map((each) => [each.name, stateText(each.state), each.unitPath]);
    context.stdout.write(formatTable(["service", "state", "unit"], rows));
  } else {
    context.stderr.write(
      `No services.\n→ keep a hub running: ${context.commandName} service install serve\n`,
    );
  }
  const resting = shown.find(({ state }) => state.kind !== "running");
  if (name !== undefined && resting !== undefined) {
    throw new CommandError(
      `Service ${name} is ${stateText(resting.state)}`,
      manager.notes(name)[0]?.replace(/^Its log: +/, "see why: "),
    );
  }
}

function unknownService(context: CliContext, name: string): CommandError {
  return new CommandError(
    `There is no service ${name}`,
    `list them: ${context.commandName} service status`,
    EXIT.notFound,
  );
}

function stateText(state: ServiceState): string {
  switch (state.kind) {
    case "running":
      return state.processId === undefined ? "running" : `running (process ${state.processId})`;
    case "failed":
      return state.exitCode === undefined ? "failed" : `failed (exit code ${state.exitCode})`;
    case "restarting":
    case "stopped":
    case "unknown":
      return state.kind;
  }
}
