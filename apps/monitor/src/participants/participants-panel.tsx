import { isLiveAndReady, type ParticipantSummary } from "@roomhub/protocol";
import { machineSlots, type MachineSlots, type RoomState, slotsOf } from "@roomhub/room-state";
import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { plural } from "../parts/figure-text.ts";
import { pure } from "../parts/pure.ts";
import { ParticipantCard } from "./participant-card.tsx";
import { byMachine } from "./participant-facts.ts";

export interface ParticipantsPanelProps {
  state: RoomState;
  nowMs: number;
}

/** With more participants than this a frame that draws all cards takes too long to do it each time. */
const manyParticipants = 50;
/** Between two drawings of many cards. */
const manyEveryMs = 250;

/** All participants, a line for each, those of one machine together. */
export function ParticipantsPanel(props: ParticipantsPanelProps): VNode {
  const drawn = useRef(props);
  const isMany = props.state.participants.size > manyParticipants;
  if (!isMany || props.nowMs - drawn.current.nowMs >= manyEveryMs) drawn.current = props;
  return <Panel {...drawn.current} />;
}

const Panel = pure(({ state, nowMs }: ParticipantsPanelProps): VNode => {
  const groups = byMachine(state.participants.values());
  const slots = slotsOf(state);
  const machines = machineSlots(state);
  // Nothing on a card changes more often but what its participant reports.
  const coarseMs = Math.floor(nowMs / 5_000) * 5_000 + 5_000;
  const cardOf = (participant: ParticipantSummary) => (
    <ParticipantCard
      key={participant.id}
      participant={participant}
      {...(slots.get(participant.id) ?? noSlots)}
      nowMs={coarseMs}
    />
  );
  return (
    <section class="panel participants" aria-labelledby="participants-title">
      <header class="panel-head">
        <h2 id="participants-title">Participants</h2>
        <p class="quiet">{summary(state)}</p>
      </header>
      {groups.length === 0 ? (
        <p class="empty">
          No participant has joined. <a href="#invite">Invite</a> has a line to paste.
        </p>
      ) : (
        <div class="cards">
          {groups.map((group) =>
            group.participants.length > 1 ? (
              <section class="machine" key={group.machineId} aria-label="One machine">
                <h3>
                  One machine, {plural(group.participants.length, "participant")}
                  {busyText(machines.get(group.machineId ?? ""))}
                </h3>
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

/** As many as those of its participants together. */
function busyText(machine: MachineSlots | undefined): string {
  if (machine === undefined) return "";
  const { active, limit, elsewhere } = machine;
  const besides = elsewhere > 0 ? `, ${elsewhere} with other work` : "";
  return `: ${active} of ${limit} slots busy${besides}`;
}

function summary({ participants }: RoomState): string {
  const ready = [...participants.values()].filter(isLiveAndReady).length;
  return `${ready} of ${participants.size} ready`;
}
