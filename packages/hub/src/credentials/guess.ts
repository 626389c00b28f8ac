import type { RoomPassword } from "./passwords.ts";

/** One try at a room's password. */
export interface Guess {
  roomCode: string;
  roomPassword: RoomPassword;
  /** whose wrong ones count together: an address, or a network of them */
  caller: string;
  password: string | undefined;
  /** whether its client no longer waits for the result */
  hasLeft: () => boolean;
}

export type PasswordResult =
  | { kind: "right" }
  | { kind: "wrong" }
  /** not checked: what its caller may try is spent, or what unknown callers may try at the room; or too many wait at the hub */
  | { kind: "throttled"; by: "caller" | "room" | "hub"; retryAfterMs: number }
  /** not checked: its client left before its turn */
  | { kind: "left" };
