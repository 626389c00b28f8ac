import type { Slots } from "@roomhub/room-state";
import type { VNode } from "preact";

/** More would be too narrow to count. */
const drawnSlots = 8;

/** How busy a participant is: one field per slot, and the same in words. */
export function SlotBar({ active, limit, elsewhere, waiting }: Slots): VNode {
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
