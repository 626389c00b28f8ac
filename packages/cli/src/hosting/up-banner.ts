import type { CliContext } from "../context.ts";
import { portOf } from "../rooms/hub-address.ts";
import { portFlag } from "../rooms/hub-address.ts";
import { qrCode } from "../terminal/qr-code.ts";
import { readyLines } from "./ready-lines.ts";
import { colorsFor, safe } from "../terminal/text.ts";

/** Everything that `up` has to say once all of it runs. */
export interface UpFacts {
  localUrl: string;
  /** How others reach the hub; empty when they cannot. */
  sharedUrls: readonly { url: string; label: string }[];
  /** `roomhub join` finds it on the network by itself */
  isAnnounced: boolean;
  room: { code: string; name: string; passwordProtected: boolean };
  participantId: string;
  model: string;
  /** the model server: a program's name, or its URL */
  server: string;
  isDemo: boolean;
}

/** What a host reads: the room, who can reach it, and lines to paste. Ends with a line break. */
export function upBanner(context: CliContext, facts: UpFacts): string {
  const { localUrl, sharedUrls, room } = facts;
  const colors = colorsFor(context, context.stdout);
  const sharedUrl = sharedUrls[0]?.url;
  const invite = `${sharedUrl ?? localUrl}/rooms/${room.code}`;
  // A loopback address leads a phone to itself.
  const code = sharedUrl === undefined ? "" : qrCode(context, context.stdout, invite);
  const lines = readyLines({
    commandName: context.commandName,
    localUrl,
    sharedUrl,
    roomCode: room.code,
    hasPassword: room.passwordProtected,
  });
  return [
    `${colors.bold(`Room ${safe(room.code)}`)}  ${safe(room.name)}`,
    ...modelLines(facts, colors.yellow),
    ...reachLines(context, facts),
    "",
    ...(code === "" ? [] : [code]),
    ...lines.flatMap(({ title, text }) => [colors.dim(title), `  ${text}`]),
    "",
    colors.dim("Requests appear here; Ctrl+C stops."),
    "",
  ].join("\n");
}

/** All that `up --quiet` says: the URL that opens the room to others. */
export function inviteUrl({ localUrl, sharedUrls, room }: UpFacts): string {
  return `${sharedUrls[0]?.url ?? localUrl}/rooms/${room.code}`;
}

function modelLines(
  { isDemo, model, server, participantId }: UpFacts,
  warn: (text: string) => string,
): string[] {
  if (!isDemo) return [`Model ${safe(model)} from ${safe(server)} as ${safe(participantId)}`];
  return [
    `Model ${warn("a built-in demo")} as ${safe(participantId)}: no model server answered on this machine`,
    "      A model server that starts takes its place: ollama run llama3.2",
  ];
}

function reachLines(
  { commandName }: CliContext,
  { localUrl, sharedUrls, isAnnounced }: UpFacts,
): string[] {
  if (sharedUrls.length === 0) {
    return [
      `Hub   ${localUrl} (this machine only)`,
      `      To open it to your network: ${commandName} up --lan${portFlag(portOf(new URL(localUrl)))}`,
    ];
  }
  const found = isAnnounced ? ` On this network just: ${commandName} join` : "";
  return [
    ...sharedUrls.map(
      ({ url, label }, index) => `${index === 0 ? "Hub  " : "     "} ${url} (${label})`,
    ),
    `      Open to all who can reach it.${found}`,
  ];
}
