import { Option } from "commander";
import { createRoomCommand } from "../rooms/choose-room.ts";
import {
  failOnCutRequests,
  type LaunchedHub,
  launchHub,
  prepareHandout,
  type RoomStorage,
} from "../hosting/hub-launch.ts";
import type { CliContext } from "../context.ts";
import { shareLine } from "../rooms/invite-text.ts";
import { portFlag } from "../rooms/hub-address.ts";
import { UsageError } from "../exit-code.ts";
import { resolveHubConfig } from "../hosting/hub-config.ts";
import { addHubFlags, type HubFlagValues, type SettingName } from "../hosting/hub-settings.ts";
import type { RoomhubCommand } from "../options.ts";
import { aborted, untilStopped } from "../terminal/stop-signal.ts";
import { writeJson } from "../terminal/text.ts";

interface ServeOptionValues extends HubFlagValues {
  json?: boolean;
  workers?: string;
}

const usualSettings: SettingName[] = [
  ...(["port", "host", "lan", "tls", "stateFile", "ephemeral", "publicUrl", "trustProxy"] as const),
  ...([
    "ownership",
    "closed",
    "create",
    "logFormat",
    "nats",
    "advertise",
    "clusterSecretFile",
  ] as const),
];

export function addServeCommand(program: RoomhubCommand, context: CliContext): void {
  addHubFlags(program.command("serve"), usualSettings)
    .jsonOption()
    .addOption(new Option("--workers <count>").hideHelp())
    .addHelpText(
      "after",
      "\nAll settings and limits, with their sources: roomhub config --limits\n\nExample:\n  $ roomhub serve --lan --port 5050 --limit queueWaitMs=30s",
    )
    .action((values: ServeOptionValues) => serve(context, values));
}

/** Stdout carries the hub's log; text for people goes to stderr. */
async function serve(context: CliContext, values: ServeOptionValues): Promise<void> {
  if (values.workers !== undefined) {
    throw new UsageError(
      "--workers was removed: a room runs in one process. To use all cores, run several hubs behind a balancer that hashes the room's code; see docs/guides/cluster-balancer.md",
    );
  }
  const config = await resolveHubConfig(context, values);
  await untilStopped(context, async (signal) => {
    const launched = await launchHub(context, config, values.json === true ? "json" : "text");
    announce(context, launched, values.json === true);
    await aborted(signal);
    context.stderr.write(
      "Stopping: waiting for running requests; press Ctrl+C again to stop now\n",
    );
    const { cut } = await launched.close();
    context.stderr.write("Stopped\n");
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

function banner(context: CliContext, launched: LaunchedHub): string {
  const { localUrl, port, pasted, rooms, isAnnounced, isForOperator } = launched;
  const command = context.commandName;
  return [
    `roomhub ${context.version}: the hub is ready at ${localUrl}`,
    ...reachLines(`${command} serve --lan${portFlag(port)}`, launched),
    ...storageLines(rooms),
    `Create a room:  ${createRoomCommand(context, localUrl)}${isForOperator ? " --operator-file PATH" : ""}`,
    ...(isForOperator
      ? ["  (PATH is the file operator-secret in the folder where this user's rooms are kept)"]
      : []),
    `Join a room:    ${shareLine(context, pasted, "CODE")}`,
    ...(isAnnounced ? ["  (on this network, an installed roomhub finds it: roomhub join)"] : []),
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

function reachLines(openCommand: string, { sharedUrls, isClosed }: LaunchedHub): string[] {
  if (sharedUrls.length === 0) {
    return [`Reachable from this machine only. To open it to your network: ${openCommand}`];
  }
  return [
    isClosed
      ? "Reachable at these addresses; the use of new rooms needs a key:"
      : "Open to anyone who can reach these addresses; a join password restricts sharing, not use:",
    ...sharedUrls.map(({ url, label }) => `  ${url}  (${label})`),
  ];
}
