import type { RoomState } from "@roomhub/room-state";
import type { VNode } from "preact";
import type { PageSize } from "../head/page-size.ts";
import { plural, stopwatchText } from "../parts/figure-text.ts";
import { VirtualRows } from "../parts/virtual-rows.tsx";
import { orderedRequests } from "./request-rows.ts";
import { RequestLine } from "./request-line.tsx";

export interface RequestsPanelProps {
  state: RoomState;
  nowMs: number;
  /** epoch ms at which the page began to watch */
  sinceMs: number;
  size: PageSize;
}

/** Requests as rows that move from waiting to their end. */
export function RequestsPanel({ state, nowMs, sinceMs, size }: RequestsPanelProps): VNode {
  const requests = orderedRequests(state);
  return (
    <section class="panel requests" aria-labelledby="requests-title">
      <header class="panel-head">
        <h2 id="requests-title">Requests</h2>
        <p class="quiet">{summary(state)}</p>
      </header>
      {requests.length === 0 ? (
        <div class="stopwatch">
          <p class="stopwatch-time">{stopwatchText(nowMs - sinceMs)}</p>
          <p>Waiting for the first request</p>
        </div>
      ) : (
        <VirtualRows
          label="Requests, running ones first"
          count={requests.length}
          rowHeight={Math.round(size.remPx * (size.isNarrow ? 5.2 : 3.6))}
          keyOf={(index) => requests[index]?.requestId ?? ""}
          render={(index) => {
            const request = requests[index];
            if (request === undefined) return null;
            const nickname =
              "participantId" in request && request.participantId !== undefined
                ? state.participants.get(request.participantId)?.nickname
                : undefined;
            // What ended does not change: without the time its line is not rendered again.
            const tickMs = "endedMs" in request ? 0 : nowMs;
            return <RequestLine request={request} nowMs={tickMs} nickname={nickname} />;
          }}
        />
      )}
    </section>
  );
}

function summary({ running }: RoomState): string {
  let waiting = 0;
  for (const { kind } of running.values()) if (kind === "queued") waiting++;
  return `${plural(running.size - waiting, "request")} running, ${waiting} waiting`;
}
