import { isLiveAndReady, type ParticipantSummary } from "@roomhub/protocol";
import { type RoomState, slotsOf } from "@roomhub/room-state";
import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { plural } from "../parts/figure-text.ts";
import { pure } from "../parts/pure.ts";
import { ParticipantCard } from "./participant-card.tsx";
import { byMachine, type MachineGroup } from "./participant-facts.ts";

export interface ParticipantsPanelProps {
  state: RoomState;
  nowMs: number;
}

/** With more participants than this a frame that draws all cards takes too long to do it each time. */
const manyParticipants = 50;
/** Between two drawings of many cards. */
const manyEveryMs = 250;

/** Cards of all participants, those of one machine together. */
export function ParticipantsPanel(props: ParticipantsPanelProps): VNode {
  const drawn = useRef(props);
  const isMany = props.state.participants.size > manyParticipants;
  if (!isMany || props.nowMs - drawn.current.nowMs >= manyEveryMs) drawn.current = props;
  return <Panel {...drawn.current} />;
}

const Panel = pure(({ state, nowMs }: ParticipantsPanelProps): VNode => {
  const groups = byMachine(state.participants.values());
  const slots = slotsOf(state);
  // Nothing on a card changes more often but what its participant reports.
  const coarseMs = Math.floor(nowMs / 5_000) * 5_000 + 5_000;
  const cardOf = (participant: ParticipantSummary) => {
    const { active, limit, elsewhere, waiting } = slots.get(participant.id) ?? noSlots;
    return (
      <ParticipantCard
        key={participant.id}
        participant={participant}
        {...{ active, limit, elsewhere, waiting }}
        nowMs={coarseMs}
      />
    );
  };
  return (
    <section class="panel participants" aria-labelledby="participants-title">
      <header class="panel-head">
        <h2 id="participants-title">Participants</h2>
        <p class="quiet">{summary(state)}</p>
      </header>
      {groups.length === 0 ? (
        <p class="empty">No participant has joined. The Invite page has a line to paste.</p>
      ) : (
        <div class="cards">
          {groups.map((group) =>
            group.participants.length > 1 ? (
              <section class="machine" key={group.machineId} aria-label="One machine">
                <h3>{machineText(group)}</h3>
                <div class="cards">{group.participants.map(cardOf)}</div>
              </section>
            ) : (
              group.participants.map(cardOf)
            ),
          )}
        </div>
      )}
    </section>
  );
});

const noSlots = { active: 0, limit: 0, elsewhere: 0, waiting: 0 };

function machineText({ participants }: MachineGroup): string {
  const machine = participants[0]?.load.machine;
  const slots = machine === undefined ? "" : `: ${machine.active} of ${machine.limit} slots busy`;
  return `One machine, ${plural(participants.length, "participant")}${slots}`;
}

function summary({ participants }: RoomState): string {
  const ready = [...participants.values()].filter(isLiveAndReady).length;
  return `${ready} of ${participants.size} ready`;
}
