import { isLiveAndReady, type ParticipantSummary } from "@roomhub/protocol";
import type { RoomState } from "@roomhub/room-state";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { type Arena, lanesAtOnce } from "./arena.ts";
import { LaneView } from "./lane-view.tsx";

/** Sends a prompt to one participant, or to all of them side by side. */
export function TryPanel({ state, arena }: { state: RoomState; arena: Arena }): VNode {
  const [prompt, setPrompt] = useState("Explain in three sentences why the sky is blue.");
  const [selector, setSelector] = useState("*");
  const ready = [...state.participants.values()].filter(isLiveAndReady);
  const lanes = arena.lanes();
  const isRunning = lanes.some(({ kind }) => kind === "running" || kind === "queued");
  const send = () => arena.start(prompt, [{ selector, title: titleOf(selector, state) }]);
  const isEmpty = prompt.trim() === "";
  return (
    <section class="panel try" aria-labelledby="try-title">
      <h2 id="try-title">Try it</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!isEmpty) send();
        }}
      >
        <label>
          Prompt
          <textarea
            rows={3}
            value={prompt}
            onInput={(event) => setPrompt(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !isEmpty) send();
            }}
          />
        </label>
        <div class="controls">
          <label>
            To{" "}
            <select value={selector} onChange={(event) => setSelector(event.currentTarget.value)}>
              <option value="*">any participant</option>
              <optgroup label="Models">
                {modelsOf(ready).map((model) => (
                  <option key={model} value={model}>
                    {model}
                  </option>
                ))}
              </optgroup>
              <optgroup label="Participants">
                {ready.map(({ id }) => (
                  <option key={id} value={id}>
                    {titleOf(id, state)}
                  </option>
                ))}
              </optgroup>
            </select>
          </label>
          <button type="submit" disabled={isEmpty}>
            Send
          </button>
          <button
            type="button"
            disabled={isEmpty || ready.length === 0}
            onClick={() =>
              arena.start(
                prompt,
                ready.map(({ id }) => ({ selector: id, title: titleOf(id, state) })),
              )
            }
          >
            All
          </button>
          {isRunning ? (
            <button type="button" onClick={() => arena.stop()}>
              Stop
            </button>
          ) : null}
        </div>
        <p class="quiet">All: every participant that is online, {lanesAtOnce} at once.</p>
      </form>
      <div class="lanes">
        {lanes.map((lane) => (
          <LaneView key={lane.id} lane={lane} state={state} />
        ))}
      </div>
    </section>
  );
}

function modelsOf(participants: readonly ParticipantSummary[]): string[] {
  return [...new Set(participants.map(({ model }) => model))].sort();
}

function titleOf(selector: string, { participants }: RoomState): string {
  const participant = participants.get(selector);
  if (participant === undefined) return selector === "*" ? "any participant" : selector;
  return `${participant.nickname}: ${participant.model}`;
}
