import { expect, test } from "vitest";
import { normaliseRoomCode, ROOM_CODE_ALPHABET } from "./room-code.ts";

test("the alphabet of room codes has 31 characters, each once, none easily confused", () => {
  expect(new Set(ROOM_CODE_ALPHABET).size).toBe(31);
  expect(ROOM_CODE_ALPHABET).toMatch(/^[2-9A-Z]{31}$/);
  for (const lookalike of "01OIL") expect(ROOM_CODE_ALPHABET).not.toContain(lookalike);
});

test("a room code means the same in any letter case", () => {
  expect(normaliseRoomCode("ab23cd")).toBe("AB23CD");
  expect(normaliseRoomCode("Ab23cD")).toBe(normaliseRoomCode("AB23CD"));
});
