import type { RoomState } from "@roomhub/room-state";
import type { VNode } from "preact";
import type { Lane } from "./arena.ts";
import { laneFigures } from "./lane-figures.ts";

const words: Record<Lane["kind"], string> = {
  queued: "waits for its turn on this page",
  running: "streaming",
  done: "done",
  stopped: "stopped",
  failed: "failed",
};

function laneText({ kind, text }: Readonly<Lane>): string {
  return kind === "running" && text === "" ? "waits for its first token" : words[kind];
}

/** One response as it arrives, with its figures. */
export function LaneView({ lane, state }: { lane: Readonly<Lane>; state: RoomState }): VNode {
  const figures = laneFigures(lane, state);
  return (
    <article class={`lane is-${lane.kind === "running" ? "streaming" : lane.kind}`}>
      <h3>{lane.title}</h3>
      <p class="quiet">
        <span class="phase">{laneText(lane)}</span>
        {figures === "" ? null : <b> {figures}</b>}
      </p>
      <p class="lane-text">{lane.text}</p>
      {lane.problem === undefined ? null : <p class="problem">{lane.problem}</p>}
    </article>
  );
}
