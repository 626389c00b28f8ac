import type {
  InferenceProtocol,
  RouteCandidate,
  RouteExplanation,
  RouteVerdict,
} from "@roomhub/protocol";
import { Argument, type Command, Option } from "commander";
import type { CliContext } from "../context.ts";
import { CommandError, exitCodeOfStatus, UsageError } from "../exit-code.ts";
import { addHubOptions, type HubOptionValues, inviteOf, positiveArgument } from "../options.ts";
import { loadColumn } from "../terminal/load-text.ts";
import { countOf, duration, formatTable, safe, writeJson } from "../terminal/text.ts";

interface RouteOptionValues extends HubOptionValues {
  room?: string;
  model: string;
  session?: string;
  promptBytes: number;
  protocol: SurfaceWord;
}

/** The surfaces by their command-line names. */
const surfaces = {
  chat: "chatCompletions",
  responses: "openResponses",
  completions: "completions",
  embeddings: "embeddings",
  messages: "messages",
} as const satisfies Record<string, InferenceProtocol>;

type SurfaceWord = keyof typeof surfaces;

export function addRouteCommand(program: Command, context: CliContext): void {
  const room = new Argument("<room>", "room code or invite URL");
  addHubOptions(
    program
      .command("route")
      .addArgument(room)
      .description("explain where a request would go, without sending one"),
  )
    .option("--room <room>", "the room, instead of the argument")
    .on("option:room", () => room.argOptional())
    .option("--model <selector>", "participant id, model name, model:<name>, or * for any", "*")
    .addOption(
      new Option("--protocol <surface>", "the request's API")
        .choices(Object.keys(surfaces))
        .default("chat"),
    )
    .option("--session <id>", "the session the request would name, for its cached share")
    .option("--prompt-bytes <n>", "length of the prompt", positiveArgument, 4_096)
    .addHelpText("after", "\nExample:\n  $ roomhub route ABC234 --model llama3.2")
    .action((named: string | undefined, options: RouteOptionValues) =>
      showRoute(context, roomOf(named, options), options),
    );
}

/** Commander requires the argument unless the option is given, so one of the two is set. */
function roomOf(named: string | undefined, { room }: RouteOptionValues): string {
  if (named !== undefined && room !== undefined) {
    throw new UsageError("The room is specified twice. Remove --room");
  }
  return named ?? room ?? "";
}

/** A request that would be refused is explained too; the command then exits as the request would. */
async function showRoute(
  context: CliContext,
  named: string,
  options: RouteOptionValues,
): Promise<void> {
  const { hubUrl, room } = inviteOf(named, options);
  const protocol = surfaces[options.protocol];
  const route = await context.createClient(hubUrl).explainRoute(room, {
    model: options.model,
    protocol,
    session: options.session,
    promptBytes: options.promptBytes,
  });
  if (options.json === true) writeJson(context.stdout, route);
  else context.stdout.write(explanation(route, options.protocol));
  if (route.refusal === undefined) return;
  const { status, message, hint } = route.refusal;
  throw new CommandError(message, hint, exitCodeOfStatus(status));
}

function explanation(route: RouteExplanation, surface: SurfaceWord): string {
  const { model, participants } = route;
  const head = `${safe(model)} on ${surface} in room ${safe(route.roomCode)}: ${aliasText(route)}${readings[route.readAs]}\n`;
  const table =
    participants.length === 0
      ? ""
      : formatTable(
          ["id", "model", "verdict", "path", "load", ...expectedHeads(route), "why"],
          participants.map((one) => row(one, isPlaced(route))),
        );
  const closing = closingLines(route).map((line) => `${line}\n`);
  return [head, table, closing.join("")].filter((part) => part !== "").join("\n");
}

function aliasText({ alias }: RouteExplanation): string {
  return alias === undefined ? "" : `alias ${safe(alias.pattern)} → ${safe(alias.target)}, `;
}

/** Why the targets before the one that is explained do not take the request, and which ones come after it. */
function aliasLines({ alias }: RouteExplanation): string[] {
  const others = alias?.targets.filter(({ verdict }) => verdict !== "taken") ?? [];
  return others.map(
    ({ target, verdict, reason }) =>
      `Target ${safe(target)}: ${verdict === "standby" ? "standby" : "skipped"}, ${safe(reason)}`,
  );
}

const readings: Record<RouteExplanation["readAs"], string> = {
  any: "read as any participant",
  id: "read as a participant id",
  model: "read as a model name",
};

const verdicts: Record<RouteVerdict, string> = {
  asked: "selected",
  random: "one of these",
  next: "next",
  standby: "standby",
  full: "at capacity",
  loading: "loading",
  "passed-over": "skipped",
};

/** Whether participants are compared by what is expected of them. */
function isPlaced({ participants }: RouteExplanation): boolean {
  return participants.some(({ expected }) => expected !== undefined);
}

function expectedHeads(route: RouteExplanation): string[] {
  return isPlaced(route) ? ["wait", "first token", "prompt rate", "cached"] : [];
}

function expectedCells({ expected }: RouteCandidate): string[] {
  const { waitMs, firstTokenMs, promptBytesPerSecond, warmBytes } = expected ?? {};
  return [
    waitMs === undefined ? "–" : duration(waitMs),
    firstTokenMs === undefined ? "–" : duration(firstTokenMs),
    promptBytesPerSecond === undefined ? "–" : `${kilobytes(promptBytesPerSecond)}/s`,
    warmBytes === undefined ? "–" : kilobytes(warmBytes),
  ];
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1_000).toFixed(1)} KB`;
}

function row(participant: RouteCandidate, isPlacedByModel: boolean): string[] {
  const { id, model, verdict, reason, connection, load } = participant;
  return [
    safe(id),
    safe(model),
    verdicts[verdict],
    safe(connection.path),
    loadColumn(load),
    ...(isPlacedByModel ? expectedCells(participant) : []),
    safe(reason),
  ];
}

function closingLines(route: RouteExplanation): string[] {
  const { outcome, queue, onFailure } = route;
  const { waiting, limit, waitMs } = queue;
  const queued = `${countOf(waiting, "request")} queued in this room`;
  const line = `${queued} (limit ${limit}, up to ${duration(waitMs)} each)`;
  return [
    ...aliasLines(route),
    outcome === "waits"
      ? `All matching participants are at capacity or loading, so the request waits: ${line}.`
      : `${line}.`,
    ...(onFailure === undefined ? [] : [`On failure: ${safe(onFailure.reason)}.`]),
  ];
}
