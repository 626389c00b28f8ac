import {
  type BenchResult,
  canaryNames,
  readBenchResult,
  type RoomState,
  tokensText,
} from "@roomhub/room-state";
import { Component, type VNode } from "preact";
import { durationText, rateText } from "../parts/figure-text.ts";
import { Table } from "../parts/table.tsx";
import { type BenchRow, benchRows, mostOf } from "./bench-rows.ts";

/** A file that was chosen: its result, or why it is none. */
export type ChosenBench = { name: string; result: BenchResult } | { name: string; problem: string };

interface BenchPanelProps {
  room: string;
  state: RoomState;
  nowMs: number;
  /** undefined until a file is chosen */
  chosen: ChosenBench | undefined;
  onChosen: (chosen: ChosenBench) => void;
}

/** Figures that change more often cannot be read. */
const everyMs = 2_000;
/** A result of a thousand participants has half of it. */
const mostBytes = 2_000_000;

/** A saved result of `roomhub bench`, beside the room's live figures. The file is read in the page and sent nowhere. */
export class BenchPanel extends Component<BenchPanelProps> {
  override shouldComponentUpdate(next: Readonly<BenchPanelProps>): boolean {
    if (next.chosen !== this.props.chosen) return true;
    return Math.floor(next.nowMs / everyMs) !== Math.floor(this.props.nowMs / everyMs);
  }

  override render({ room, state, chosen, onChosen }: BenchPanelProps): VNode {
    const choose = (input: HTMLInputElement) => {
      const file = input.files?.[0];
      if (file !== undefined) void read(file).then(onChosen);
    };
    return (
      <section class="panel" aria-labelledby="bench-title">
        <header class="panel-head">
          <h2 id="bench-title">Bench</h2>
          <label class="bench-file">
            Saved result{" "}
            <input
              type="file"
              accept="application/json,.json"
              onChange={({ currentTarget }) => choose(currentTarget)}
            />
          </label>
        </header>
        {chosen === undefined ? (
          <p class="empty">
            <code>{`roomhub bench ${room} --save result.json`}</code> measures each participant.
            Choose its file: it stays in this page.
          </p>
        ) : "problem" in chosen ? (
          <p class="problem" role="alert">
            {chosen.name} {chosen.problem}.
          </p>
        ) : (
          <Result name={chosen.name} result={chosen.result} state={state} room={room} />
        )}
      </section>
    );
  }
}

async function read(file: File): Promise<ChosenBench> {
  const { name, size } = file;
  try {
    const result = size > mostBytes ? undefined : readBenchResult(await file.text());
    if (result !== undefined) return { name, result };
  } catch {
    return { name, problem: "cannot be read. Choose it again" };
  }
  return { name, problem: "is not a result of roomhub bench. Choose a file that --save wrote" };
}

interface ResultProps {
  name: string;
  room: string;
  result: BenchResult;
  state: RoomState;
}

function Result({ name, result, state, room }: ResultProps): VNode {
  const { participants, at, room: measuredRoom } = result;
  const atMs = Date.parse(at);
  const skipped = participants.filter((one) => one.skipped !== undefined);
  const failed = participants.filter(({ errors }) => errors.length > 0);
  return (
    <>
      <p class="quiet">
        {name}
        {Number.isNaN(atMs) ? "" : `, measured ${new Date(atMs).toLocaleString()}`}
        {measuredRoom === room ? "" : `, in room ${measuredRoom}`}. <b>Now</b> is the median of the
        requests that this page has seen, of any length.
      </p>
      <Figures rows={benchRows(result, state)} />
      <ul class="bench-notes">
        {skipped.map(({ id, skipped: why }) => (
          <li key={id}>
            {id} was not measured: {why}
          </li>
        ))}
        {failed.map(({ id, errors }) => (
          <li key={id}>
            {id}: {errors.join("; ")}
          </li>
        ))}
      </ul>
    </>
  );
}

const heads = [
  ...["Participant", "Model", "Context", "First token at 1 KB", "At 16 KB", "First token now"],
  ...["Prompt tokens/s", "Output tokens/s", "At once", "Output now", "Tools", "Schema"],
  ...["Vision", "Needle"],
];

function Figures({ rows }: { rows: BenchRow[] }): VNode {
  const mostMs = mostOf(rows.flatMap(({ firstToken }) => Object.values(firstToken)));
  const mostPrompt = mostOf(rows.map(({ promptRate }) => promptRate));
  const mostOutput = mostOf(rows.flatMap(({ outputRate }) => Object.values(outputRate)));
  const ms = (value: number | null) => <Bar value={value} most={mostMs} text={durationText} />;
  const output = (value: number | null, count = "") => (
    <Bar value={value} most={mostOutput} text={(rate) => `${rateText(rate)}${count}`} />
  );
  return (
    <Table
      heads={heads}
      empty="No participant was measured."
      rows={rows.map(({ measured, model, firstToken, promptRate, outputRate, atOnce }) => [
        measured.id,
        model,
        measured.context === null ? "–" : tokensText(measured.context),
        ms(firstToken.short),
        ms(firstToken.long),
        ms(firstToken.now),
        <Bar value={promptRate} most={mostPrompt} text={rateText} />,
        output(outputRate.alone),
        output(outputRate.together, ` (${atOnce})`),
        output(outputRate.now),
        ...canaryNames.map((name) => canaryWords[measured.canaries[name] ?? "none"]),
      ])}
    />
  );
}

const canaryWords = { passed: "yes", failed: "no", refused: "refused", none: "–" };

interface BarProps {
  value: number | null;
  most: number;
  text: (value: number) => string;
}

function Bar({ value, most, text }: BarProps): VNode {
  if (value === null || most === 0) return <>–</>;
  return (
    <span class="measured">
      {text(value)}
      <i style={{ width: `${(value / most) * 100}%` }} />
    </span>
  );
}
