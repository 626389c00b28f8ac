import type { CliContext } from "../context.ts";
import { joinLine } from "../handout/join-line.ts";
import { portFlag, portOf } from "../rooms/hub-address.ts";
import { qrCode } from "../terminal/qr-code.ts";
import { colorsFor, safe } from "../terminal/text.ts";

/** What `up` prints once everything runs. */
export interface UpFacts {
  localUrl: string;
  /** The hub's URLs for other machines; empty when they cannot connect. */
  sharedUrls: readonly { url: string; label: string }[];
  /** whether `roomhub join` finds it on the network */
  isAnnounced: boolean;
  room: { code: string; name: string; passwordProtected: boolean };
  participantId: string;
  model: string;
  /** the model server: a program's name, or its URL */
  server: string;
  isDemo: boolean;
  /** whether the hub hands out this program */
  isHandedOut: boolean;
  /** of the page that watches the room; undefined without one */
  monitorUrl: string | undefined;
}

/** The room, who can reach it, and lines to paste. Ends with a line break. */
export function upBanner(context: CliContext, facts: UpFacts): string {
  const { localUrl, sharedUrls, room } = facts;
  const colors = colorsFor(context, context.stdout);
  const sharedUrl = sharedUrls[0]?.url;
  const invite = `${sharedUrl ?? localUrl}/rooms/${room.code}`;
  // A loopback address is useless to a phone.
  const code = sharedUrl === undefined ? "" : qrCode(context, context.stdout, invite);
  const lines = readyLines({
    commandName: context.commandName,
    localUrl,
    sharedUrl,
    isHandedOut: facts.isHandedOut,
    roomCode: room.code,
    hasPassword: room.passwordProtected,
  });
  return [
    `${colors.bold(`Room ${safe(room.code)}`)}  ${safe(room.name)}`,
    ...modelLines(facts, colors.yellow),
    ...reachLines(context, facts),
    ...(facts.monitorUrl === undefined ? [] : [`Watch ${facts.monitorUrl} (this machine only)`]),
    "",
    ...(code === "" ? [] : [code]),
    ...lines.flatMap(({ title, text }) => [colors.dim(title), `  ${text}`]),
    "",
    colors.dim("Requests appear here; Ctrl+C stops."),
    "",
  ].join("\n");
}

/** The whole output of `up --quiet`: the invite URL. */
export function inviteUrl({ localUrl, sharedUrls, room }: UpFacts): string {
  return `${sharedUrls[0]?.url ?? localUrl}/rooms/${room.code}`;
}

interface ReadyLinesInput {
  commandName: string;
  localUrl: string;
  /** The hub's URL for other machines; undefined when they cannot connect. */
  sharedUrl: string | undefined;
  isHandedOut: boolean;
  roomCode: string;
  hasPassword: boolean;
}

/** Three lines to paste: share a model, send a request, configure a client. */
function readyLines(input: ReadyLinesInput): { title: string; text: string }[] {
  const { commandName, localUrl, sharedUrl, isHandedOut, roomCode, hasPassword } = input;
  const hubUrl = sharedUrl ?? localUrl;
  const roomUrl = `${hubUrl}/rooms/${roomCode}`;
  const body = '{"model":"*","stream":true,"messages":[{"role":"user","content":"Hello!"}]}';
  const share = sharedUrl === undefined ? "another model" : "a model from another machine";
  return [
    {
      title: `Share ${share}${hasPassword ? " (prompts for the password)" : ""}`,
      text: joinLine(commandName, hubUrl, roomCode, isHandedOut && sharedUrl !== undefined),
    },
    { title: "Send a request", text: `curl -N ${roomUrl}/v1/chat/completions -d '${body}'` },
    {
      title: "Point any OpenAI client at it",
      text: `export OPENAI_BASE_URL=${roomUrl}/v1 OPENAI_API_KEY=roomhub`,
    },
  ];
}

function modelLines(
  { isDemo, model, server, participantId }: UpFacts,
  warn: (text: string) => string,
): string[] {
  if (!isDemo) return [`Model ${safe(model)} from ${safe(server)} as ${safe(participantId)}`];
  return [
    `Model ${warn("a built-in demo")} as ${safe(participantId)}: no model server found on this machine`,
    "      Start a model server to replace it: ollama run llama3.2",
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
  const found = isAnnounced ? ` On this network: ${commandName} join` : "";
  return [
    ...sharedUrls.map(
      ({ url, label }, index) => `${index === 0 ? "Hub  " : "     "} ${url} (${label})`,
    ),
    `      Open to anyone who can reach it.${found}`,
  ];
}
