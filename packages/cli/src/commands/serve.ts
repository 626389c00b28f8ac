import type { Command } from "commander";
import { createRoomCommand } from "../rooms/choose-room.ts";
import { joinLine } from "../handout/join-line.ts";
import { prepareHandout } from "../handout/prepare-handout.ts";
import type { CliContext } from "../context.ts";
import { portFlag } from "../rooms/hub-address.ts";
import { WORKER } from "../cluster/worker-env.ts";
import { runWorkers, workerCount } from "../cluster/workers.ts";
import { CommandError } from "../exit-code.ts";
import { type HubConfig, resolveHubConfig } from "../hosting/hub-config.ts";
import {
  type LaunchedHub,
  launchHub,
  failOnCutRequests,
  type RoomStorage,
} from "../hosting/hub-launch.ts";
import { addHubFlags, type HubFlagValues } from "../hosting/hub-settings.ts";
import { addJsonOption } from "../options.ts";
import { aborted, untilStopped } from "../terminal/stop-signal.ts";
import { writeJson } from "../terminal/text.ts";

interface ServeOptionValues extends HubFlagValues {
  json?: boolean;
  workers?: number;
}

export function addServeCommand(program: Command, context: CliContext): void {
  addJsonOption(addHubFlags(program.command("serve").description("run a hub until stopped")))
    .option(
      "--workers <count>",
      "so many hubs on one port, each in a process of its own (Linux)",
      workerCount,
    )
    .addHelpText(
      "after",
      "\nAll settings and limits, with their sources: roomhub config --limits\n\nExample:\n  $ roomhub serve --lan --port 5050 --limit queueWaitMs=30s",
    )
    .action((values: ServeOptionValues) => serve(context, values));
}

/** Stdout carries the hub's log; text for people goes to stderr. */
async function serve(context: CliContext, values: ServeOptionValues): Promise<void> {
  const config = await resolveHubConfig(context, values);
  if (values.workers !== undefined && context.env[WORKER.hubId] === undefined) {
    await supervise(context, config, values.workers);
    return;
  }
  await untilStopped(context, async (signal) => {
    const launched = await launchHub(context, config, values.json === true ? "json" : "text");
    if (isHeard(context)) announce(context, launched, values.json === true);
    await aborted(signal);
    if (isHeard(context)) {
      context.stderr.write(
        "Stopping: waiting for running requests; press Ctrl+C again to stop now\n",
      );
    }
    const { cut } = await launched.close();
    if (isHeard(context)) context.stderr.write("Stopped\n");
    failOnCutRequests(cut);
  });
}

function announce(context: CliContext, launched: LaunchedHub, isJson: boolean): void {
  if (isJson) {
    const { localUrl, port, sharedUrls, rooms } = launched;
    const urls = sharedUrls.map(({ url }) => url);
    writeJson(context.stdout, {
      url: localUrl,
      port,
      sharedUrls: urls,
      statePath: rooms.kind === "kept" ? rooms.path : null,
    });
  } else {
    context.stderr.write(banner(context, launched));
  }
  void prepareHandout(context, launched, true);
}

/** Of several workers, one speaks. */
function isHeard({ env }: CliContext): boolean {
  return env[WORKER.hubId] === undefined || env[WORKER.isFirst] !== undefined;
}

/** @throws CommandError when a worker did not stop in order */
async function supervise(context: CliContext, config: HubConfig, count: number): Promise<void> {
  const code = await untilStopped(context, (signal) => runWorkers(context, config, count, signal));
  if (code === 0) return;
  throw new CommandError("A worker did not stop in order", "the reason is above");
}

function banner(context: CliContext, launched: LaunchedHub): string {
  const { localUrl, port, sharedUrls, rooms, isAnnounced, handout } = launched;
  const sharedUrl = sharedUrls[0]?.url;
  const command = context.commandName;
  return [
    `roomhub ${context.version}: the hub is ready at ${localUrl}`,
    ...reachLines(`${command} serve --lan${portFlag(port)}`, sharedUrls),
    ...storageLines(rooms),
    `Create a room:  ${createRoomCommand(context, localUrl)}`,
    `Join a room:    ${joinLine(command, sharedUrl ?? localUrl, "CODE", handout !== undefined && sharedUrl !== undefined)}`,
    ...(isAnnounced ? [`  (on this network, \`${command} join\` finds it)`] : []),
    "",
  ].join("\n");
}

function storageLines(rooms: RoomStorage): string[] {
  switch (rooms.kind) {
    case "kept":
      return [`Rooms are kept in ${rooms.path}`];
    case "shared":
      return [`One of the hubs that share ${rooms.servers.join(", ")}; they keep the rooms there`];
    case "forgotten":
      return ["Rooms are lost when the hub stops."];
    case "unwritable":
      return [];
  }
}

function reachLines(openCommand: string, sharedUrls: LaunchedHub["sharedUrls"]): string[] {
  if (sharedUrls.length === 0) {
    return [`Reachable from this machine only. To open it to your network: ${openCommand}`];
  }
  return [
    "Open to anyone who can reach these addresses; a room can have a password:",
    ...sharedUrls.map(({ url, label }) => `  ${url}  (${label})`),
  ];
}
