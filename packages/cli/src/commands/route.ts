import {
  InferenceProtocol,
  type RouteCandidate,
  type RouteExplanation,
  type RouteVerdict,
  SURFACE_WORDS,
  type SurfaceWord,
} from "@roomhub/protocol";
import { Option } from "commander";
import type { CliContext } from "../context.ts";
import { CommandError, exitCodeOfStatus, UsageError } from "../exit-code.ts";
import { type HubOptionValues, positiveArgument, type RoomhubCommand } from "../options.ts";
import { locateRoom } from "../rooms/locate.ts";
import { contextText } from "@roomhub/room-state";
import { loadColumn } from "../terminal/load-text.ts";
import {
  countOf,
  duration,
  formatTable,
  safe,
  shellWord,
  withoutEmpty,
  writeJson,
} from "../terminal/text.ts";

interface RouteOptionValues extends HubOptionValues {
  room?: string;
  model?: string;
  session?: string;
  promptBytes: number;
  require?: string;
  priority: "batch" | "interactive";
  protocol: SurfaceWord;
}

export function addRouteCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("route")
    .hubOptions()
    .argument("[room]", "room code, invite URL or hub URL (default: the hub's only room)")
    .argument("[model]", "participant id, model name, model:<name>, or * for any (default: *)")
    .option("--room <room>", "the room, instead of the argument")
    .option("--model <selector>", "the model, instead of the argument")
    .addOption(
      new Option("--protocol <surface>", "the request's API")
        .choices(Object.values(SURFACE_WORDS))
        .default("chat"),
    )
    .option("--session <id>", "the session the request would name, for its cached share")
    .option("--prompt-bytes <n>", "length of the prompt", positiveArgument, 4_096)
    .option("--require <features>", "what the model must have, such as schema,tools")
    .addOption(
      new Option("--priority <priority>", "batch: others come before it")
        .choices(["batch", "interactive"])
        .default("interactive"),
    )
    .examples("roomhub route ABC234 llama3.2")
    .action((room: string | undefined, model: string | undefined, options: RouteOptionValues) => {
      const target = onlyOne("room", room, options.room);
      const selector = onlyOne("model", model, options.model) ?? "*";
      return showRoute(context, target, selector, options);
    });
}

function protocolOf(word: SurfaceWord): InferenceProtocol {
  return InferenceProtocol.options.find((one) => SURFACE_WORDS[one] === word) ?? "chatCompletions";
}

/** @throws UsageError when both the argument and its option are given */
function onlyOne(
  name: string,
  argument: string | undefined,
  option: string | undefined,
): string | undefined {
  if (argument !== undefined && option !== undefined) {
    throw new UsageError(`The ${name} is specified twice. Remove --${name}`);
  }
  return argument ?? option;
}

/** A request that would be refused is explained too; the command then exits as the request would. */
async function showRoute(
  context: CliContext,
  target: string | undefined,
  model: string,
  options: RouteOptionValues,
): Promise<void> {
  const word = model === "*" ? "" : ` ${shellWord(model)}`;
  const { hubUrl, room } = await locateRoom(
    context,
    target,
    options,
    (url) => `route ${url}${word}`,
  );
  const protocol = protocolOf(options.protocol);
  const route = await context.createClient(hubUrl).explainRoute(room, {
    model,
    protocol,
    session: options.session,
    promptBytes: options.promptBytes,
    require: options.require,
    priority: options.priority === "batch" ? "batch" : undefined,
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
          ...withoutEmpty(
            headings,
            participants.map((one) => row(one, route)),
          ),
        );
  const closing = closingLines(route).map((line) => `${line}\n`);
  return [head, table, closing.join("")].filter((part) => part !== "").join("\n");
}

function aliasText({ alias }: RouteExplanation): string {
  return alias === undefined ? "" : `alias ${safe(alias.pattern)} → ${safe(alias.target)}, `;
}

/** Why earlier targets of the alias do not take the request, and which later ones stand by. */
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

const headings = [
  ...["id", "model", "context", "verdict", "path", "load"],
  ...["wait", "first token", "prompt rate", "cached", "why"],
];

/** Empty if no participant has expected figures. */
function expectedCells({ expected }: RouteCandidate, { participants }: RouteExplanation): string[] {
  if (participants.every((one) => one.expected === undefined)) return ["", "", "", ""];
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

function row(participant: RouteCandidate, route: RouteExplanation): string[] {
  const { id, model, verdict, reason, connection, load } = participant;
  return [
    safe(id),
    safe(model),
    contextText(participant.context),
    verdicts[verdict],
    safe(connection.path),
    loadColumn(load),
    ...expectedCells(participant, route),
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
