import type { Link, RoomState } from "@roomhub/room-state";

/** What shows the state of a room, on a screen or as lines. */
export interface Show {
  /** Called after each change. */
  update(state: RoomState, link: Link): void;
  /** Restores the terminal, or writes what is pending. May be called again. */
  close(): void;
}
