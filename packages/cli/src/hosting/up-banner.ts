import type { PastedHub, Room } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { defaultHubUrl, portFlag, portOf } from "../rooms/hub-address.ts";
import { inviteText, rowsOf } from "../rooms/invite-text.ts";
import { colorsFor, safe } from "../terminal/text.ts";

/** What `up` prints once everything runs. */
export interface UpFacts {
  localUrl: string;
  /** The hub's URLs for other machines; empty when they cannot connect. */
  sharedUrls: readonly { url: string; label: string }[];
  hub: PastedHub;
  /** whether `roomhub join` finds it on the network */
  isAnnounced: boolean;
  room: Pick<Room, "code" | "name" | "passwordProtected" | "closed">;
  participantId: string;
  model: string;
  /** the model server: a program's name, or its URL */
  server: string;
  isDemo: boolean;
  /** of the page that watches the room; undefined without one */
  watchUrl: string | undefined;
}

/** The room, who can reach it, and lines to paste. Ends with a line break. */
export function upBanner(context: CliContext, facts: UpFacts): string {
  const { room } = facts;
  const colors = colorsFor(context, context.stdout);
  const first = [
    `${colors.bold(`Room ${safe(room.code)}`)}  ${safe(room.name)}`,
    ...modelLines(context, facts, colors.yellow),
    ...reachLines(context, facts),
    `Chat  ${context.commandName} chat${localRoom(facts, "")}`,
    "",
  ];
  const again = `${context.commandName} invite${localRoom(facts, ` ${safe(room.code)}`)}`;
  const last = `Requests appear here; Ctrl+C stops. All of this again: ${again}`;
  const rowsBeside = rowsOf(context.stdout, [...first, "", last]) + digestRows;
  return [...first, inviteText(context, facts, rowsBeside), colors.dim(last), ""].join("\n");
}

/** Rows of the line with the SHA-512 of the program, which follows the banner. */
const digestRows = 3;

/** The room, as the argument of a command on this machine. @param short - what suffices at the default hub */
function localRoom({ localUrl, room }: UpFacts, short: string): string {
  return localUrl === defaultHubUrl ? short : ` ${localUrl}/rooms/${safe(room.code)}`;
}

function modelLines(
  { platform }: CliContext,
  { isDemo, model, server, participantId }: UpFacts,
  warn: (text: string) => string,
): string[] {
  if (!isDemo) return [`Model ${safe(model)} from ${safe(server)} as ${safe(participantId)}`];
  return [
    `Model ${warn("a built-in demo")} as ${safe(participantId)}: no chat model found on this machine`,
    "      A model replaces it as soon as one runs here, such as that of Ollama:",
    `        ${ollamaInstallation(platform)}`,
    "        ollama run llama3.2",
    "      LM Studio: https://lmstudio.ai, load a model, then: lms server start",
    `      llama.cpp: ${platform === "win32" ? "winget" : "brew"} install llama.cpp, then: llama-server -m MODEL.gguf`,
  ];
}

function ollamaInstallation(platform: NodeJS.Platform): string {
  switch (platform) {
    case "win32":
      return "winget install Ollama.Ollama";
    case "darwin":
      return "https://ollama.com/download, then:";
    default:
      return "curl -fsSL https://ollama.com/install.sh | sh";
  }
}

function reachLines(
  { commandName }: CliContext,
  { localUrl, sharedUrls, isAnnounced, room }: UpFacts,
): string[] {
  if (sharedUrls.length === 0) {
    return [
      `Hub   ${localUrl} (this machine only)`,
      `      To open it to your network: ${commandName} up --lan${portFlag(portOf(new URL(localUrl)))}`,
    ];
  }
  const who =
    room.closed === true ? "Closed: its use needs a key." : "Open to anyone who can reach it.";
  return [
    ...sharedUrls.map(
      ({ url, label }, index) => `${index === 0 ? "Hub  " : "     "} ${url} (${label})`,
    ),
    `      ${who}${isAnnounced ? " Where installed, roomhub join finds it" : ""}`,
  ];
}
