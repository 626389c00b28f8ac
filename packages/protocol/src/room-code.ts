/** Letters and digits that cannot be confused: no 0/O, 1/I/L. Contract §1. */
export const ROOM_CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";
export const ROOM_CODE_LENGTH = 6;

/**
 * Contract §1: accepted in any letter case, normalised once at the edge. Separate from the schemas, so that the SDK does
 * not load them in browsers.
 */
export function normaliseRoomCode(code: string): string {
  return code.toUpperCase();
}
