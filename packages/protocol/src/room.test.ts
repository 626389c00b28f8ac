import { expect, test } from "vitest";
import { REQUEST_SCHEMAS } from "./request-schemas.ts";

const RoomPassword = REQUEST_SCHEMAS.createRoom.shape.password.unwrap().unwrap();

test("a password has 1 to 128 bytes", () => {
  expect(RoomPassword.safeParse("").success).toBe(false);
  expect(RoomPassword.safeParse("x".repeat(128)).success).toBe(true);
  expect(RoomPassword.safeParse("x".repeat(129)).success).toBe(false);
  expect(RoomPassword.safeParse("é".repeat(64)).success).toBe(true);
  expect(RoomPassword.safeParse("🐻".repeat(32)).success).toBe(true);
  expect(RoomPassword.safeParse("🐻".repeat(33)).success).toBe(false);
});
