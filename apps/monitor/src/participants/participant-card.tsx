import type { ParticipantSummary } from "@roomhub/protocol";
import type { Slots } from "@roomhub/room-state";
import type { VNode } from "preact";
import { pure } from "../parts/pure.ts";
import { conditionOf, factTexts, troubleText } from "./participant-facts.ts";

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

/** More would be too narrow to count. */
const drawnSlots = 8;

/** How busy a participant is: one field per slot, and the same in words. */
function SlotBar({ active, limit, elsewhere, waiting }: Slots): VNode {
  const drawn = Math.min(limit, drawnSlots);
  const scale = limit === 0 ? 0 : drawn / limit;
  const busy = Math.ceil(active * scale);
  const other = Math.ceil(elsewhere * scale);
  const slots = Array.from({ length: drawn }, (_, index) => {
    const kind = index < busy ? "is-busy" : index < busy + other ? "is-elsewhere" : "is-free";
    return <i class={kind} key={index} />;
  });
  const besides = elsewhere > 0 ? `, ${elsewhere} with other work` : "";
  const queue = waiting > 0 ? `, could serve ${waiting} waiting` : "";
  return (
    <span class="slots">
      <span class="slot-bar" aria-hidden="true">
        {slots}
      </span>{" "}
      {active} of {limit} busy{besides}
      {queue}
    </span>
  );
}
