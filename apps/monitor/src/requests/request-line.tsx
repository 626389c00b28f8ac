import type { VNode } from "preact";
import { countText } from "../parts/figure-text.ts";
import { pure } from "../parts/pure.ts";
import { type AnyRequest, type RequestRow, requestRow } from "./request-rows.ts";

export interface RequestLineProps {
  request: AnyRequest;
  nowMs: number;
  /** of its participant; undefined while there is none */
  nickname: string | undefined;
}

/** One request: its phase, who sends it, where it runs, and how it goes. */
export const RequestLine = pure(({ request, nowMs, nickname }: RequestLineProps): VNode => {
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

/** Conversations are 8 hex digits; those that begin alike may look alike. */
function hueOf(conversation: string): number {
  return Math.round((Number.parseInt(conversation.slice(0, 4), 16) / 0x1_00_00) * 360) || 0;
}
