import type { Link, RoomState } from "@roomhub/room-state";
import type { Colors } from "../../terminal/text.ts";

/** Everything that a frame shows. */
export interface TopView {
  state: RoomState;
  link: Link;
  hubUrl: string;
  /** in upper case */
  code: string;
  /** epoch ms */
  nowMs: number;
  /** of the terminal, in cells */
  columns: number;
  /** of the terminal, in lines */
  rows: number;
  colors: Colors;
}

/** What shows the state of a room, on a screen or as lines. */
export interface Show {
  /** Called after each change. */
  update(state: RoomState, link: Link): void;
  /** Restores the terminal, or writes what is pending. May be called again. */
  close(): void;
}
