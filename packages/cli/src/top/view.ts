import type { Link, RoomState } from "@roomhub/room-state";
import type { Colors } from "../terminal/text.ts";

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
