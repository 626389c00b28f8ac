/** Letters and digits that cannot be taken for another: no 0/O, 1/I/L. Contract §1. */
export const ROOM_CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";
export const ROOM_CODE_LENGTH = 6;

/**
 * Contract §1: accepted in any letter case, normalised once at the edge. Apart from the schemas, because the SDK needs
 * this in browsers and no schema.
 */
export function normaliseRoomCode(code: string): string {
  return code.toUpperCase();
}
