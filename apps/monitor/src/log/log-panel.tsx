import type { EndedRequest, LogLevel, RoomState } from "@roomhub/room-state";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { CopyButton } from "../parts/copy-button.tsx";
import { clockText, plural } from "../parts/figure-text.ts";
import { VirtualRows } from "../parts/virtual-rows.tsx";
import { FailureDetail } from "./failure-detail.tsx";
import { filterLog, lineText } from "./filter-log.ts";

/** What happened, with a filter; the last failures with their next steps. */
export function LogPanel({ state, remPx }: { state: RoomState; remPx: number }): VNode {
  const [text, setText] = useState("");
  const [level, setLevel] = useState<LogLevel>("info");
  const [paused, setPaused] = useState<RoomState>();
  const { log, logged, recent } = paused ?? state;
  const lines = filterLog(log, { text, level });
  const missed = state.logged - logged;
  return (
    <section class="panel log" aria-labelledby="log-title">
      <header class="panel-head">
        <h2 id="log-title">Log</h2>
        <div class="controls">
          <input
            type="search"
            aria-label="Filter the log"
            placeholder="Filter"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <select
            aria-label="Least serious level"
            value={level}
            onChange={(event) => setLevel(event.currentTarget.value as LogLevel)}
          >
            <option value="info">all</option>
            <option value="warning">warnings and errors</option>
            <option value="error">errors</option>
          </select>
          <button
            type="button"
            aria-pressed={paused !== undefined}
            onClick={() => setPaused(paused === undefined ? state : undefined)}
          >
            {paused === undefined ? "Pause" : `Resume (${plural(missed, "new line")})`}
          </button>
          <CopyButton text={() => lines.map(lineText).join("\n")} label="Copy" />
        </div>
      </header>
      <VirtualRows
        label="Log lines, newest last"
        count={lines.length}
        rowHeight={Math.round(remPx * 1.7)}
        followsEnd={paused === undefined}
        keyOf={(index) => String(lines[index]?.sequence)}
        render={(index) => {
          const line = lines[index];
          if (line === undefined) return null;
          return (
            <p class={`log-line is-${line.level}`} title={line.text}>
              <time>{clockText(line.atMs)}</time> <b>{line.level}</b> {line.text}
            </p>
          );
        }}
      />
      <FailureDetail failures={failuresOf(recent)} />
    </section>
  );
}

function failuresOf(recent: readonly EndedRequest[]) {
  return recent
    .filter((request) => request.kind === "failed")
    .slice(-5)
    .reverse();
}
