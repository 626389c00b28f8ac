import type { Invite } from "@roomhub/client";
import type { RoomState } from "@roomhub/room-state";
import type { VNode } from "preact";
import { RoomAddress } from "../invite/room-address.tsx";
import { plural } from "../parts/figure-text.ts";
import { VirtualRows } from "../parts/virtual-rows.tsx";
import { orderedRequests } from "./request-rows.ts";
import { RequestLine } from "./request-line.tsx";

export interface RequestsPanelProps {
  state: RoomState;
  nowMs: number;
  /** size of the root's font, px */
  remPx: number;
  address: Invite;
  /** The room's address is beside this panel. */
  isProjector: boolean;
}

/** Requests as rows that move from waiting to their end. */
export function RequestsPanel(props: RequestsPanelProps): VNode {
  const { state, nowMs, remPx, address, isProjector } = props;
  const requests = orderedRequests(state);
  return (
    <section class="panel requests" aria-labelledby="requests-title">
      <header class="panel-head">
        <h2 id="requests-title">Requests</h2>
        <p class="quiet">{summary(state)}</p>
      </header>
      {requests.length === 0 ? (
        <div class="welcome">
          <p>No requests since you opened this page.</p>
          {isProjector ? null : (
            <>
              <a class="button" href="#try">
                Try it
              </a>
              <RoomAddress {...address} />
            </>
          )}
        </div>
      ) : (
        <VirtualRows
          label="Requests, running ones first"
          count={requests.length}
          rowHeight={Math.round(remPx * 3.6)}
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
