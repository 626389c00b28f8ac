import type { Load, Readiness } from "@roomhub/protocol";
import { backText, lostText } from "@roomhub/room-state";
import { withCommandName } from "../command-list.ts";
import type { CliContext } from "../context.ts";
import { type LineNotice, noticeLine, trackOutage } from "./notice-line.ts";
import { createServedTable } from "../terminal/request-table.ts";
import type { RowFeed } from "../terminal/row-feed.ts";
import type { ParticipantNotice, ParticipantOptions } from "@roomhub/participant";
import {
  clockTime,
  type Colors,
  colorsFor,
  duration,
  reasonOf,
  safe,
  writeJson,
} from "../terminal/text.ts";

export interface ReportOptions {
  /** NDJSON on stdout instead of lines on stderr */
  isJson: boolean;
  /** only problems and recoveries */
  isQuiet: boolean;
  /** appended to the line that reports all participants connected */
  keysHint: string;
}

type Machine = NonNullable<Load["machine"]>;
type Outage = ReturnType<typeof trackOutage<ParticipantOptions>>;

/**
 * Reports the notices of all participants in one process. They share a hub, and some share a model server, so an outage of
 * either is one line.
 */
export class NoticeReport {
  readonly #context: CliContext;
  readonly #feed: RowFeed;
  readonly #options: ReportOptions;
  readonly #colors: Colors;
  readonly #hasNames: boolean;
  readonly #servedRow: ReturnType<typeof createServedTable>;
  // By object: an id may change at the first join.
  readonly #hubOutage: Outage = trackOutage();
  readonly #isServerNews: ReturnType<typeof trackServers>;
  readonly #budgetProblems = new Map<string, string | undefined>();
  /** participants that have not connected yet */
  readonly #awaited: Set<ParticipantOptions>;
  readonly #machines = new Map<string, Machine>();

  /** @param feed - of stderr */
  constructor(
    context: CliContext,
    feed: RowFeed,
    participants: readonly ParticipantOptions[],
    options: ReportOptions,
  ) {
    this.#context = context;
    this.#feed = feed;
    this.#options = options;
    this.#colors = colorsFor(context, context.stderr);
    this.#hasNames = participants.length > 1;
    this.#servedRow = createServedTable(context.stderr, this.#colors, this.#hasNames);
    this.#isServerNews = trackServers(() => context.world.wallMs());
    this.#awaited = new Set(participants);
  }

  note(participant: ParticipantOptions, notice: ParticipantNotice): void {
    const { id, endpoint } = participant;
    if (this.#options.isJson) {
      return writeJson(this.#context.stdout, { participantId: id, ...forJson(notice) });
    }
    const { yellow, green } = this.#colors;
    const nowMs = this.#context.world.wallMs();
    switch (notice.kind) {
      case "joined":
        for (const warning of notice.warnings) {
          this.#feed.line(yellow(`! ${this.#hasNames ? `${safe(id)}: ` : ""}${safe(warning)}`));
        }
        // The latest to join knows of the most others.
        if (notice.machine !== undefined) this.#machines.set(notice.machine.id, notice.machine);
        return;
      case "connected":
        return this.#onConnected(participant);
      case "disconnected":
        if (this.#hubOutage.began(participant, nowMs)) this.#sayNotice(notice);
        return;
      // Each participant has other streams, so each gets a line.
      case "interrupted":
        this.#hubOutage.began(participant, nowMs);
        return this.#say(yellow(lostText(safe(id), notice.streams)));
      case "resumed":
        this.#hubOutage.ended(participant, nowMs);
        return this.#say(green(backText(safe(id), notice.afterMs, notice.streams)));
      case "provider-readiness":
        if (this.#isServerNews(participant, notice.readiness)) this.#sayNotice(notice);
        return;
      case "budget":
        // One per endpoint: its participants share the budget.
        if (this.#budgetProblems.get(endpoint) !== notice.problem) this.#sayNotice(notice);
        this.#budgetProblems.set(endpoint, notice.problem);
        return;
      case "model-changed":
      case "fault":
        return this.#sayNotice(notice);
      case "request-ended":
        if (this.#options.isQuiet) return;
        return this.#feed.row({
          render: () => this.#servedRow(id, notice, this.#context.world.wallMs()),
          isFailed: notice.outcome === "failed" || notice.outcome === "refused",
        });
      case "stopped":
        return this.#onStopped(participant, notice);
      case "request-started":
        return;
    }
  }

  #onConnected(participant: ParticipantOptions): void {
    const outageMs = this.#hubOutage.ended(participant, this.#context.world.wallMs());
    const isFirst = this.#awaited.has(participant);
    if (this.#isLastAwaited(participant)) {
      if (this.#options.isQuiet) return;
      for (const machine of this.#machines.values()) this.#say(sharedText(machine));
      this.#say(this.#colors.green(`connected; ${this.#options.keysHint}`));
    } else if (outageMs !== undefined && !isFirst) {
      this.#say(this.#colors.green(`reconnected after ${duration(outageMs)}`));
    }
  }

  #onStopped(
    participant: ParticipantOptions,
    { code, reason, hint }: ParticipantNotice & { kind: "stopped" },
  ): void {
    this.#hubOutage.ended(participant, this.#context.world.wallMs());
    this.#isLastAwaited(participant);
    // A single participant's stop ends the command, which reports the reason.
    if (!this.#hasNames || code === "closed") return;
    this.#say(this.#colors.yellow(`${safe(participant.id)} stopped: ${safe(reason)}`));
    if (hint !== undefined) this.#feed.line(`→ ${withCommandName(this.#context, safe(hint))}`);
  }

  /** @returns whether all have connected, or stopped, with this one */
  #isLastAwaited(participant: ParticipantOptions): boolean {
    return this.#awaited.delete(participant) && this.#awaited.size === 0;
  }

  #say(text: string): void {
    this.#feed.line(`${this.#colors.dim(clockTime(this.#context.world.wallMs()))}  ${text}`);
  }

  #sayNotice(notice: LineNotice): void {
    this.#feed.line(noticeLine(notice, this.#context.world.wallMs(), this.#colors));
  }
}

/**
 * @returns whether to report the readiness of a participant's model server: once when it changes for the first participant,
 * once when all have recovered
 */
function trackServers(nowMs: () => number) {
  const servers = new Map<string, { outage: Outage; reported: Readiness }>();
  return (participant: ParticipantOptions, readiness: Readiness): boolean => {
    const { endpoint } = participant;
    const server = servers.get(endpoint) ?? { outage: trackOutage(), reported: "ready" };
    servers.set(endpoint, server);
    const isRecovered = server.outage.ended(participant, nowMs()) !== undefined;
    if (readiness !== "ready") server.outage.began(participant, nowMs());
    if (readiness === "ready" ? !isRecovered : readiness === server.reported) return false;
    server.reported = readiness;
    return true;
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
