import type { Room } from "../domain/room.ts";
import { HubError } from "../errors.ts";
import type { OperationContext } from "./context.ts";

/** What of a room is stored and changes. */
type Stored = Pick<
  Room,
  "name" | "isPasswordProtected" | "aliases" | "isClosed" | "keys" | "bans" | "blocked"
>;

/**
 * Changes what is stored of a room, and resolves once it is. Changes of a room run one after the other: each begins with
 * the result of the one before. One that is not stored is undone.
 *
 * @throws HubError `room_not_found`, `cluster_unavailable`, and what `change` throws
 */
export async function changeRoom<Result>(
  { registry, rooms, changes }: OperationContext,
  code: string,
  change: (room: Room) => { changed: Partial<Stored>; result: Result; undo?: () => void },
  hint = "Try again.",
): Promise<Result> {
  return changes.run(code, async () => {
    const room = registry.room(code);
    const before = { ...room };
    const { changed, result, undo } = change(room);
    Object.assign(room, changed);
    let isKept = false;
    try {
      isKept = await rooms.keep(room);
    } finally {
      if (!isKept) {
        undo?.();
        const names = Object.keys(changed) as (keyof Stored)[];
        // The directory may have reported other values meanwhile, which stay.
        const ours = names.filter((name) => room[name] === changed[name]);
        Object.assign(room, Object.fromEntries(ours.map((name) => [name, before[name]])));
      }
    }
    if (isKept) return result;
    const message = `Room ${room.code} was changed through another hub at the same time.`;
    throw new HubError("cluster_unavailable", message, { hint });
  });
}
