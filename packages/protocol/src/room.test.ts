import { expect, test } from "vitest";
import { REQUEST_SCHEMAS } from "./request-schemas.ts";
import { normaliseRoomCode, ROOM_CODE_ALPHABET } from "./room.ts";

const RoomPassword = REQUEST_SCHEMAS.createRoom.shape.password.unwrap().unwrap();

test("the alphabet of room codes has 31 characters, each once, none taken for another", () => {
  expect(new Set(ROOM_CODE_ALPHABET).size).toBe(31);
  expect(ROOM_CODE_ALPHABET).toMatch(/^[2-9A-Z]{31}$/);
  for (const lookalike of "01OIL") expect(ROOM_CODE_ALPHABET).not.toContain(lookalike);
});

test("a room code means the same in any letter case", () => {
  expect(normaliseRoomCode("ab23cd")).toBe("AB23CD");
  expect(normaliseRoomCode("Ab23cD")).toBe(normaliseRoomCode("AB23CD"));
});

test("a password has 1 to 128 bytes", () => {
  expect(RoomPassword.safeParse("").success).toBe(false);
  expect(RoomPassword.safeParse("x".repeat(128)).success).toBe(true);
  expect(RoomPassword.safeParse("x".repeat(129)).success).toBe(false);
  expect(RoomPassword.safeParse("é".repeat(64)).success).toBe(true);
  expect(RoomPassword.safeParse("🐻".repeat(32)).success).toBe(true);
  expect(RoomPassword.safeParse("🐻".repeat(33)).success).toBe(false);
});
