import type { ParticipantSummary } from "@roomhub/protocol";
import type { Slots } from "@roomhub/room-state";
import type { VNode } from "preact";
import { pure } from "../parts/pure.ts";
import { conditionOf, factTexts, troubleText } from "./participant-facts.ts";
import { SlotBar } from "./slot-bar.tsx";

export interface ParticipantCardProps extends Slots {
  participant: ParticipantSummary;
  nowMs: number;
}

/** One participant: a line with what it shares and how busy it is, and a second one where it takes no requests. */
export const ParticipantCard = pure((props: ParticipantCardProps): VNode => {
  const { participant, nowMs, active, limit, elsewhere, waiting } = props;
  const slots = { active, limit, elsewhere, waiting };
  const { id, nickname, model } = participant;
  const trouble = troubleText(participant, nowMs);
  return (
    <article class={`card is-${conditionOf(participant, slots)}`} data-participant={id}>
      <details>
        <summary>
          <h4 title={nickname}>{nickname}</h4>
          <span class="model" title={model}>
            {model}
          </span>
          <SlotBar {...slots} />
        </summary>
        <p class="quiet">{factTexts(participant, nowMs).join(", ")}</p>
      </details>
      {trouble === undefined ? null : <p class="trouble">{trouble}</p>}
    </article>
  );
});
