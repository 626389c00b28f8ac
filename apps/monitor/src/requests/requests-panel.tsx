import type { Invite } from "@roomhub/client";
import type { RoomState } from "@roomhub/room-state";
import type { VNode } from "preact";
import { RoomAddress } from "../invite/room-address.tsx";
import { countText, plural } from "../parts/figure-text.ts";
import { pure } from "../parts/pure.ts";
import { VirtualRows } from "../parts/virtual-rows.tsx";
import { type AnyRequest, orderedRequests, type RequestRow, requestRow } from "./request-rows.ts";

export interface RequestsPanelProps {
  state: RoomState;
  nowMs: number;
  address: Invite;
  /** The room's address is beside this panel. */
  isProjector: boolean;
}

/** Requests as rows that move from waiting to their end. */
export function RequestsPanel(props: RequestsPanelProps): VNode {
  const { state, nowMs, address, isProjector } = props;
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
          rowRem={3.6}
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

interface RequestLineProps {
  request: AnyRequest;
  nowMs: number;
  /** of its participant; undefined while there is none */
  nickname: string | undefined;
}

/** One request: its phase, who sends it, where it runs, and how it goes. */
const RequestLine = pure(({ request, nowMs, nickname }: RequestLineProps): VNode => {
  const row = requestRow(request, nowMs);
  return (
    <article class={`request is-${row.phase}`} data-request={request.requestId}>
      <span class="phase">{row.phaseText}</span>
      <span class="route">
        <b>{row.person}</b>
        {row.conversation === undefined ? null : (
          <span class="conversation" style={{ "--hue": String(hueOf(row.conversation)) }}>
            <span class="sr-only">conversation </span>
            {row.conversation}
          </span>
        )}
        <span class="quiet"> → </span>
        {row.participantId === undefined ? (
          <span class="quiet">{row.selector}</span>
        ) : (
          <>
            <span>{nickname ?? row.participantId}</span> <span class="quiet">{row.model}</span>
          </>
        )}
        {row.isBatch ? <span class="badge">batch</span> : null}
        {row.attempt > 1 ? <span class="badge is-warning">attempt {row.attempt}</span> : null}
      </span>
      <span class="time">{row.timeText}</span>
      {row.failure === undefined ? (
        <span class="figures">
          {row.rateText === "" ? null : <b>{row.rateText}</b>}
          {row.tokens === undefined ? null : <span>{countText(row.tokens)} tokens</span>}
          {row.ttftText === "" ? null : <span>first token {row.ttftText}</span>}
        </span>
      ) : (
        <Cause failure={row.failure} />
      )}
    </article>
  );
});

/** The whole message, then its code, then the next step: nothing of it is cut. */
function Cause({ failure }: { failure: NonNullable<RequestRow["failure"]> }): VNode {
  return (
    <p class="failure">
      <b>{failure.error}</b> <code>{failure.code}</code>
      {failure.hint === undefined ? null : <span class="quiet"> Next: {failure.hint}.</span>}
    </p>
  );
}

/** From the first 4 of the 8 hex digits: two conversations may have the same colour. */
function hueOf(conversation: string): number {
  return Math.round((Number.parseInt(conversation.slice(0, 4), 16) / 0x1_00_00) * 360) || 0;
}
