import { clientText } from "@roomhub/protocol";
import type { EndedRequest, LogLevel, RoomState } from "@roomhub/room-state";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { CopyButton } from "../parts/copy-button.tsx";
import { clockText, durationText, plural } from "../parts/figure-text.ts";
import { VirtualRows } from "../parts/virtual-rows.tsx";
import { filterLog, lineText } from "./filter-log.ts";

/** What happened, with a filter; the last failures with their next steps. */
export function LogPanel({ state }: { state: RoomState }): VNode {
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
        rowRem={1.7}
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
      <LastFailures recent={recent} />
    </section>
  );
}

/** The last failures: where each happened, the whole message, and the next step. */
function LastFailures({ recent }: { recent: readonly EndedRequest[] }): VNode | null {
  const failures = recent.filter((request) => request.kind === "failed").slice(-5);
  if (failures.length === 0) return null;
  return (
    <section class="failures" aria-labelledby="failures-title">
      <h3 id="failures-title">Last failures</h3>
      {failures.reverse().map((failure) => (
        <details key={failure.requestId}>
          <summary>
            <time>{clockText(failure.endedMs)}</time> <code>{failure.code}</code> at {failure.stage}
            , {clientText(failure.client) ?? "no name"}
          </summary>
          <p>{failure.error}</p>
          {failure.hint === undefined ? null : (
            <p>
              <b>Next: {failure.hint}</b>
            </p>
          )}
          <p class="quiet">
            {failure.participantId ?? "no participant"}, {failure.model ?? failure.selector},{" "}
            {plural(failure.attempts, "attempt")}, {durationText(failure.queueMs)} in the queue,{" "}
            {failure.requestId}
          </p>
          <CopyButton label="Copy as JSON" text={() => JSON.stringify(failure, null, 2)} />
        </details>
      ))}
    </section>
  );
}
