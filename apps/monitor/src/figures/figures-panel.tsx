import {
  BUCKET_MS,
  BUCKETS,
  participantFigures,
  participantSeries,
  roomFigures,
  type RoomState,
  series,
  tokenText,
  usage,
} from "@roomhub/room-state";
import { Component, type VNode } from "preact";
import {
  agoText,
  countText,
  durationText,
  plural,
  rateText,
  shareText,
} from "../parts/figure-text.ts";
import {
  type ParticipantFigure,
  participantLines,
  requestLines,
  tokenLines,
  ttftLines,
} from "./figure-series.ts";
import { Table } from "../parts/table.tsx";
import { Plot } from "./plot.tsx";

/** Rows of the usage table; the rest is summed up on the command line by `roomhub usage`. */
const usageRows = 50;

/** A line for each participant, up to six: more colours cannot be distinguished. */
const lineColors = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];

const participantPlots: { figure: ParticipantFigure; title: string; unit: string }[] = [
  { figure: "requests", title: "Requests of each", unit: "per 10 s" },
  { figure: "errors", title: "Errors of each", unit: "per 10 s" },
  { figure: "warm", title: "Warm share of each", unit: "% of prompt tokens" },
];

interface FiguresProps {
  state: RoomState;
  nowMs: number;
}

/** Plots that change more often cannot be read. */
const everyMs = 2_000;

/** The last 15 minutes as plots, per participant, and per person and model. */
export class FiguresPanel extends Component<FiguresProps> {
  override shouldComponentUpdate(next: Readonly<FiguresProps>): boolean {
    return Math.floor(next.nowMs / everyMs) !== Math.floor(this.props.nowMs / everyMs);
  }

  override render({ state, nowMs }: FiguresProps): VNode {
    return (
      <div class="figures-view">
        <Plots state={state} nowMs={nowMs} />
        <PerParticipant state={state} nowMs={nowMs} />
        <PerPerson state={state} nowMs={nowMs} />
      </div>
    );
  }
}

function Plots({ state, nowMs }: FiguresProps): VNode {
  const points = series(state, nowMs);
  const room = roomFigures(state, nowMs);
  const ttft = (ms: number | undefined) => (ms === undefined ? "none yet" : durationText(ms));
  const warm = room.warmShare === undefined ? "" : `, ${shareText(room.warmShare)} of prompts warm`;
  return (
    <section class="panel" aria-labelledby="plots-title">
      <h2 id="plots-title">{timeText(room.sinceMs, nowMs)}</h2>
      <div class="plots">
        <Plot
          title="First token"
          unit="s"
          names={["median", "95 %"]}
          colors={["--accent", "--busy"]}
          data={ttftLines(points)}
          summary={`median ${ttft(room.ttftP50Ms)}, 95 % ${ttft(room.ttftP95Ms)}`}
        />
        <Plot
          title="Generated"
          unit="tokens/s"
          names={["tokens/s"]}
          colors={["--good"]}
          data={tokenLines(points)}
          summary={`${rateText(room.tokensPerSecond)} now, ${tokenText(room.outputTokens, countText)} tokens${warm}`}
        />
        <Plot
          title="Requests"
          unit="per 10 s"
          names={["ended", "failed"]}
          colors={["--accent", "--bad"]}
          data={requestLines(points)}
          summary={`${plural(room.requests, "request")}, ${plural(room.errors, "error")}`}
        />
      </div>
    </section>
  );
}

/** What the figures are of: a page that was opened late knows nothing of before. */
function timeText(sinceMs: number, nowMs: number): string {
  if (nowMs - sinceMs >= BUCKETS * BUCKET_MS) return "Last 15 minutes";
  return `Since you opened this page, ${agoText(nowMs - sinceMs)}`;
}

function PerParticipant({ state, nowMs }: FiguresProps): VNode {
  const rows = [...participantFigures(state, nowMs)].sort(
    ([, one], [, other]) => other.requests - one.requests,
  );
  return (
    <section class="panel" aria-labelledby="per-participant-title">
      <h2 id="per-participant-title">Per participant</h2>
      <ParticipantPlots
        state={state}
        nowMs={nowMs}
        shown={rows
          .slice(0, lineColors.length)
          .map(([id]) => id)
          .sort()}
      />
      <Table
        heads={["Participant", "Requests", "Errors", "Tokens", "Warm"]}
        empty="No request has ended yet."
        rows={rows.map(([id, figures]) => [
          nameOf(id),
          countText(figures.requests),
          countText(figures.errors),
          tokenText(figures.outputTokens, countText),
          figures.warmShare === undefined ? "–" : shareText(figures.warmShare),
        ])}
      />
    </section>
  );
}

interface ParticipantPlotsProps extends FiguresProps {
  /** ids */
  shown: string[];
}

/** As in the log. Requests that reached no participant have none. */
function nameOf(id: string): string {
  return id === "" ? "(none)" : id;
}

/** A line for each of the participants with most requests. */
function ParticipantPlots({ state, nowMs, shown }: ParticipantPlotsProps): VNode | null {
  if (shown.length === 0) return null;
  const all = shown.map((id) => participantSeries(state, id, nowMs));
  const names = shown.map(nameOf);
  return (
    <div class="plots">
      {participantPlots.map(({ figure, title, unit }) => (
        <Plot
          key={figure}
          {...{ title, unit, names }}
          colors={lineColors}
          data={participantLines(all, figure)}
        />
      ))}
    </div>
  );
}

function PerPerson({ state, nowMs }: FiguresProps): VNode {
  return (
    <section class="panel" aria-labelledby="per-person-title">
      <h2 id="per-person-title">Per person and model</h2>
      <Table
        heads={["Person", "Model", "Requests", "Errors", "Input", "Output"]}
        empty="No request has ended yet."
        rows={usage(state, nowMs)
          .slice(0, usageRows)
          .map((used) => [
            used.person === "" ? "no name" : used.person,
            used.model,
            countText(used.requests),
            countText(used.errors),
            tokenText(used.inputTokens, countText),
            tokenText(used.outputTokens, countText),
          ])}
      />
    </section>
  );
}
