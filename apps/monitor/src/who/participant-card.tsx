import type { ParticipantSummary } from "@roomhub/protocol";
import type { VNode } from "preact";
import { pure } from "../parts/pure.ts";
import {
  budgetText,
  capabilityTexts,
  conditionOf,
  connectionText,
  readinessText,
  specTexts,
  statusText,
} from "./participant-facts.ts";
import { SlotBar } from "./slot-bar.tsx";

export interface ParticipantCardProps {
  participant: ParticipantSummary;
  /** requests running there */
  active: number;
  limit: number;
  /** slots busy with other work */
  elsewhere: number;
  /** requests in the queue that it could serve */
  waiting: number;
  nowMs: number;
}

/** One participant: what it shares, whether it can take a request, and how busy it is. */
export const ParticipantCard = pure((props: ParticipantCardProps): VNode => {
  const { participant, active, limit, elsewhere, waiting, nowMs } = props;
  const { id, nickname, model, connection } = participant;
  const budget = budgetText(participant, nowMs);
  const specs = specTexts(participant);
  const loaded = participant.loadedModels?.includes(model) === true;
  return (
    <article class={`card is-${conditionOf(participant)}`} data-participant={id}>
      <h4>
        {nickname} <span class="quiet id">{id}</span>
      </h4>
      <p class="model">
        {model}
        {loaded ? <span class="badge">loaded</span> : null}
      </p>
      <p class="readiness">{readinessText(connection)}</p>
      {connection.problem === undefined ? null : <p class="problem">{connection.problem}</p>}
      <SlotBar active={active} limit={limit} elsewhere={elsewhere} waiting={waiting} />
      <p class="quiet">
        {statusText(participant, nowMs)}; {connectionText(participant)}
      </p>
      {specs.length === 0 ? null : <p class="quiet">{specs.join(", ")}</p>}
      {budget === undefined ? null : <p class="quiet">Budget: {budget}</p>}
      <details>
        <summary>Capabilities</summary>
        <p class="quiet">{capabilityTexts(participant).join(", ")}</p>
      </details>
    </article>
  );
});
