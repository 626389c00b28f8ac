import { ROOM_CODE_ALPHABET, ROOM_CODE_LENGTH } from "@roomhub/protocol";

/**
 * A code that is not in use. Contract §1: 6 characters without look-alikes.
 *
 * @param randomBelow - a uniform integer in `[0, bound)`
 */
export function unusedRoomCode(
  isUsed: (code: string) => boolean,
  randomBelow: (bound: number) => number,
): string {
  for (;;) {
    let code = "";
    for (let length = 0; length < ROOM_CODE_LENGTH; length++) {
      code += ROOM_CODE_ALPHABET[randomBelow(ROOM_CODE_ALPHABET.length)];
    }
    if (!isUsed(code)) return code;
  }
}
