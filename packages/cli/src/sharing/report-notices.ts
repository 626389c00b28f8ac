import type { Load, Readiness } from "@roomhub/protocol";
import { backText, lostText } from "@roomhub/room-state";
import { withCommandName } from "../command-name.ts";
import type { CliContext } from "../context.ts";
import { noticeLine, type LineNotice } from "./notice-line.ts";
import { type Outage, trackOutage } from "./outage.ts";
import { createServedTable } from "../terminal/request-table.ts";
import type { RowFeed } from "../terminal/row-feed.ts";
import type { ParticipantNotice, ParticipantOptions } from "@roomhub/participant";
import { clockTime, colorsFor, duration, reasonOf, safe, writeJson } from "../terminal/text.ts";

export interface ReportOptions {
  /** NDJSON on stdout instead of lines on stderr */
  isJson: boolean;
  /** only problems and recoveries */
  isQuiet: boolean;
  /** appended to the line that reports all participants connected */
  keysHint: string;
}

type Machine = NonNullable<Load["machine"]>;

interface ServerOutage {
  outage: Outage<ParticipantOptions>;
  /** the last reported readiness */
  reported: Readiness;
}

export type ReportNotice = (participant: ParticipantOptions, notice: ParticipantNotice) => void;

/**
 * Reports the notices of all participants in one process. They share a hub, and some share a model server, so an outage of
 * either is one line.
 *
 * @param feed - of stderr
 */
export function reportNotices(
  context: CliContext,
  feed: RowFeed,
  participants: readonly ParticipantOptions[],
  { isJson, isQuiet, keysHint }: ReportOptions,
): ReportNotice {
  const colors = colorsFor(context, context.stderr);
  const hasNames = participants.length > 1;
  const servedRow = createServedTable(context.stderr, colors, hasNames);
  // By object: an id may change at the first join.
  const hubOutage = trackOutage<ParticipantOptions>();
  const serverOutages = new Map<string, ServerOutage>();
  const budgetProblems = new Map<string, string | undefined>();
  const awaited = new Set(participants);
  const machines = new Map<string, Machine>();

  const say = (line: string) => feed.line(line);
  const now = () => colors.dim(clockTime(context.nowMs()));
  const sayNotice = (notice: LineNotice) => say(noticeLine(notice, context.nowMs(), colors));

  /** @returns whether to report it: once when the server's state changes for the first participant, once when all have recovered */
  function isServerNews(participant: ParticipantOptions, readiness: Readiness): boolean {
    const { endpoint } = participant;
    const server = serverOutages.get(endpoint) ?? {
      outage: trackOutage<ParticipantOptions>(),
      reported: "ready",
    };
    serverOutages.set(endpoint, server);
    const isRecovered = server.outage.ended(participant, context.nowMs()) !== undefined;
    if (readiness !== "ready") server.outage.began(participant, context.nowMs());
    if (readiness === "ready" ? !isRecovered : readiness === server.reported) return false;
    server.reported = readiness;
    return true;
  }

  /** @returns whether this was the last participant to connect for the first time */
  function isLastAwaited(participant: ParticipantOptions): boolean {
    return awaited.delete(participant) && awaited.size === 0;
  }

  function onConnected(participant: ParticipantOptions): void {
    const outageMs = hubOutage.ended(participant, context.nowMs());
    const isFirst = awaited.has(participant);
    if (isLastAwaited(participant)) {
      if (isQuiet) return;
      for (const machine of machines.values()) say(`${now()}  ${sharedText(machine)}`);
      say(`${now()}  ${colors.green(`connected; ${keysHint}`)}`);
    } else if (outageMs !== undefined && !isFirst) {
      say(`${now()}  ${colors.green(`reconnected after ${duration(outageMs)}`)}`);
    }
  }

  return (participant, notice) => {
    const { id, endpoint } = participant;
    if (isJson) return writeJson(context.stdout, { participantId: id, ...forJson(notice) });
    switch (notice.kind) {
      case "joined":
        for (const warning of notice.warnings) {
          say(colors.yellow(`! ${hasNames ? `${safe(id)}: ` : ""}${safe(warning)}`));
        }
        // The latest to join knows of the most others.
        if (notice.machine !== undefined) machines.set(notice.machine.id, notice.machine);
        return;
      case "connected":
        return onConnected(participant);
      case "disconnected":
        if (hubOutage.began(participant, context.nowMs())) sayNotice(notice);
        return;
      // Each has streams of its own: one line per participant.
      case "interrupted":
        hubOutage.began(participant, context.nowMs());
        return say(`${now()}  ${colors.yellow(lostText(safe(id), notice.streams))}`);
      case "resumed": {
        hubOutage.ended(participant, context.nowMs());
        const text = backText(safe(id), notice.afterMs, notice.streams);
        return say(`${now()}  ${colors.green(text)}`);
      }
      case "provider-readiness":
        if (isServerNews(participant, notice.readiness)) sayNotice(notice);
        return;
      case "budget":
        // One per endpoint: its participants share the budget.
        if (budgetProblems.get(endpoint) !== notice.problem) sayNotice(notice);
        budgetProblems.set(endpoint, notice.problem);
        return;
      case "model-changed":
        return sayNotice(notice);
      case "request-ended":
        if (isQuiet) return;
        return feed.row({
          render: () => servedRow(id, notice, context.nowMs()),
          isFailed: notice.outcome === "failed" || notice.outcome === "refused",
        });
      case "fault":
        return sayNotice(notice);
      case "stopped":
        hubOutage.ended(participant, context.nowMs());
        isLastAwaited(participant);
        // A single participant's stop ends the command, which reports the reason.
        if (hasNames && notice.code !== "closed") {
          say(`${now()}  ${colors.yellow(`${safe(id)} stopped: ${safe(notice.reason)}`)}`);
          if (notice.hint !== undefined) say(`→ ${withCommandName(context, safe(notice.hint))}`);
        }
        return;
      case "request-started":
        return;
    }
  };
}

function sharedText({ limit, participants = 2 }: Machine): string {
  const slots = limit === 1 ? "1 slot" : `${limit} slots`;
  const others =
    participants === 2 ? "1 other participant" : `${participants - 1} other participants`;
  return `shares ${slots} with ${others} of this machine`;
}

/** JSON would show an Error as an empty object. */
function forJson(notice: ParticipantNotice): object {
  if (notice.kind !== "fault") return notice;
  const { error } = notice;
  return { kind: "fault", error: reasonOf(error) };
}
