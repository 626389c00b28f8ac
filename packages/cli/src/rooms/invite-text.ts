import { stripVTControlCharacters } from "node:util";
import {
  inviteUrl,
  isForOthers,
  curlLine,
  joinLine,
  pastedHub,
  type PastedHub,
  type Room,
  sealedUrl,
} from "@roomhub/protocol";
import { renderUnicodeCompact } from "uqr";
import { canErase } from "../terminal/interactivity.ts";
import type { CliContext, Terminal } from "../context.ts";
import { displayWidth } from "../terminal/display-width.ts";
import { colorsFor, safe, shellWord } from "../terminal/text.ts";
import { healthOf } from "./hub-health.ts";

/** A room, and the way to it. */
export interface ShownInvite {
  hub: PastedHub;
  room: Pick<Room, "code" | "passwordProtected" | "closed">;
  /** the page that watches it; undefined without one */
  watchUrl: string | undefined;
}

/**
 * Lines to paste, the QR code of the room's page where others reach it, and where the room is: what comes last stays on a
 * small screen.
 *
 * @param rowsBeside - the QR code is shown only if these rows and all lines fit on the screen with it; undefined: only the
 * last lines have to
 */
export function inviteText(
  context: CliContext,
  invite: ShownInvite,
  rowsBeside: number | undefined,
): string {
  const { stdout } = context;
  const colors = colorsFor(context, stdout);
  const lines = pasteLines(context, invite).flatMap(({ title, text }) => [
    colors.dim(title),
    ...(text === undefined ? [] : [`  ${text}`]),
  ]);
  const { url, lines: last } = whereItIs(invite);
  const kept =
    rowsBeside === undefined
      ? rowsOf(stdout, last)
      : rowsBeside + rowsOf(stdout, [...lines, ...last]);
  // The QR code, an empty line on either side of it, and the cursor.
  const code = isForOthers(invite.hub.hubUrl) ? qrCode(context, stdout, url, kept + 3) : "";
  return [...lines, "", ...(code === "" ? [] : [code]), ...last, ""].join("\n");
}

/** How many rows of a terminal these lines fill. */
export function rowsOf(terminal: CliContext["stdout"], lines: readonly string[]): number {
  const columns = terminal.columns ?? Number.POSITIVE_INFINITY;
  const rows = lines.map((line) => displayWidth(stripVTControlCharacters(line)) / columns);
  return rows.reduce((sum, filled) => sum + Math.max(1, Math.ceil(filled)), 0);
}

/** A line to paste, or only what to do with another one. */
interface PasteLine {
  title: string;
  text?: string;
}

/** Lines for sharing a model, for sending a request, and for setting up a program. */
function pasteLines(context: CliContext, { hub, room }: ShownInvite): PasteLine[] {
  const roomUrl = `${hub.hubUrl}/rooms/${safe(room.code)}`;
  const body = '{"model":"*","stream":true,"messages":[{"role":"user","content":"Hello!"}]}';
  const share = isForOthers(hub.hubUrl) ? "a model from another machine" : "another model";
  if (room.closed === true) {
    return [
      {
        title: `Share ${share} (asks for a key with the right to share)`,
        text: shareLine(context, hub, safe(room.code)),
      },
      {
        title: "Let someone in: a key of their own, with link and QR code",
        text: `${context.commandName} invite ${roomUrl} --for NAME`,
      },
    ];
  }
  return [
    {
      title: `Share ${share}${room.passwordProtected ? " (prompts for the join password)" : ""}`,
      text: shareLine(context, hub, safe(room.code)),
    },
    {
      title: "Send a request",
      text: `${curlLine(hub)} -N ${sealedUrl(hub)}/rooms/${safe(room.code)}/v1/chat/completions -d '${body}'`,
    },
    ...clientLines(hub, safe(room.code)),
  ];
}

/** OpenAI clients know no pins: they get a door, or plain HTTP where the hub still serves it. */
function clientLines(hub: PastedHub, roomCode: string): PasteLine[] {
  const plain = `export OPENAI_BASE_URL=${hub.hubUrl}/rooms/${roomCode}/v1 OPENAI_API_KEY=roomhub`;
  if (hub.pin === undefined) return [{ title: "Point any OpenAI client at it", text: plain }];
  const door = { title: "Encrypted, for any OpenAI client: the first line, with open for join" };
  if (hub.hubUrl.startsWith("https:")) return [door];
  return [door, { title: `Point any OpenAI client at it (${onTrusted})`, text: plain }];
}

const onTrusted = "not encrypted: only on a network you trust";

function whereItIs({ hub, room, watchUrl }: ShownInvite): { url: string; lines: string[] } {
  const code = safe(room.code);
  const url = `${hub.hubUrl}/rooms/${code}`;
  const invite = inviteUrl(hub, code);
  const isPlain = hub.pin !== undefined && invite.startsWith("http:");
  return {
    // Of the page: browsers know no pins, and a short code can be scanned on a small screen.
    url,
    lines: [
      `Code      ${code}`,
      `Page      ${url}`,
      ...(invite === url ? [] : [`Invite    ${invite}`]),
      `Base URL  ${url}/v1${isPlain ? `  (${onTrusted})` : ""}`,
      ...(watchUrl === undefined ? [] : [`Watch     ${watchUrl}`]),
    ],
  };
}

/** The short link to the page that watches a room, at the hub that hands it out. */
export function watchUrlOf(
  { hubUrl, isHandedOut }: PastedHub,
  roomCode: string,
): string | undefined {
  return isHandedOut ? `${hubUrl}/rooms/${roomCode}/watch` : undefined;
}

/** ISO 18004 requires four; phones scan with two, and terminals are small. */
const quietZone = 2;
const indent = "  ";

/**
 * A QR code in half blocks, as lines with line breaks; empty where it cannot be scanned: in a pipe, on a dumb or narrow
 * terminal, on one that is not high enough. Drawn light on dark with explicit colours, so that a light terminal does not
 * invert it.
 *
 * @param rowsBeside - rows that have to stay on the screen with it
 */
export function qrCode(
  context: CliContext,
  terminal: Terminal,
  text: string,
  rowsBeside: number,
): string {
  if (!canErase(context, terminal)) return "";
  const lines = renderUnicodeCompact(text, { border: quietZone }).split("\n");
  const width = displayWidth(lines[0] ?? "") + indent.length;
  if (terminal.columns === undefined || terminal.columns <= width) return "";
  if (terminal.rows === undefined || terminal.rows < lines.length + rowsBeside) return "";
  const colors = colorsFor(context, terminal);
  return lines.map((line) => `${indent}${colors.bgBlack(colors.whiteBright(line))}\n`).join("");
}

/** The hub as lines for others name it. If it does not respond, that is by this URL, and as one that hands out nothing. */
export async function pastedHubAt(context: CliContext, hubUrl: string): Promise<PastedHub> {
  return pastedHub(hubUrl, (await healthOf(context, hubUrl, 3_000)) ?? {});
}

/** The line that shares a model: from another machine, or from this one where no other reaches the hub. */
export function shareLine({ commandName }: CliContext, hub: PastedHub, roomCode: string): string {
  return isForOthers(hub.hubUrl)
    ? joinLine(hub, roomCode)
    : `${commandName} join ${shellWord(inviteUrl(hub, roomCode))}`;
}
