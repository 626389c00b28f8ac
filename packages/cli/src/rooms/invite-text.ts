import { isForOthers, type PastedHub, type Room } from "@roomhub/protocol";
import { stripVTControlCharacters } from "node:util";
import type { CliContext } from "../context.ts";
import { displayWidth } from "../terminal/display-width.ts";
import { qrCode } from "../terminal/qr-code.ts";
import { colorsFor, safe } from "../terminal/text.ts";
import { shareLine } from "./pasted-hub.ts";

/** A room, and the way to it. */
export interface ShownInvite {
  hub: PastedHub;
  room: Pick<Room, "code" | "passwordProtected">;
  /** the page that watches it; undefined without one */
  watchUrl: string | undefined;
}

/**
 * Lines to paste, the QR code of the room's page where others reach it, and where the room is: what comes last stays on a
 * small screen.
 *
 * @param rowsBeside - rows besides all of it that have to be on the screen too for the QR code to be shown; undefined: only
 * the last lines do
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
    `  ${text}`,
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

/** For a person who shares a model, for one who sends a request, and for one who has a program. */
function pasteLines(
  context: CliContext,
  { hub, room }: ShownInvite,
): { title: string; text: string }[] {
  const roomUrl = `${hub.hubUrl}/rooms/${safe(room.code)}`;
  const body = '{"model":"*","stream":true,"messages":[{"role":"user","content":"Hello!"}]}';
  const share = isForOthers(hub.hubUrl) ? "a model from another machine" : "another model";
  return [
    {
      title: `Share ${share}${room.passwordProtected ? " (prompts for the join password)" : ""}`,
      text: shareLine(context, hub, safe(room.code)),
    },
    { title: "Send a request", text: `curl -N ${roomUrl}/v1/chat/completions -d '${body}'` },
    {
      title: "Point any OpenAI client at it",
      text: `export OPENAI_BASE_URL=${roomUrl}/v1 OPENAI_API_KEY=roomhub`,
    },
  ];
}

function whereItIs({ hub, room, watchUrl }: ShownInvite): { url: string; lines: string[] } {
  const code = safe(room.code);
  const url = `${hub.hubUrl}/rooms/${code}`;
  return {
    url,
    lines: [
      `Code      ${code}`,
      `Page      ${url}`,
      `Base URL  ${url}/v1`,
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
