import { RoomhubError } from "@roomhub/client";
import { expect, test } from "vitest";
import { judgeHeartbeat, judgeJoin } from "./hub-verdict.ts";

function refusedWith(status: number, code: string, hint: string | undefined): RoomhubError {
  const none = { requestId: undefined, retryAfterMs: undefined, participants: undefined };
  return new RoomhubError("No.", { status, code, param: "", hint, ...none });
}

const wrongPassword = refusedWith(401, "invalid_password", "Ask the host.");

test("a refusal stops, and its next step stands apart from what happened", () => {
  const stop = { code: "invalid_password", reason: "No.", hint: "Ask the host." };
  const expected = { event: { type: "refused", stop }, reason: "No." };
  expect(judgeJoin(wrongPassword, false)).toEqual(expected);
  expect(judgeHeartbeat(wrongPassword)).toEqual(expected);
});

test("what passes is told in one line, the next step in it", () => {
  const busy = judgeJoin(refusedWith(429, "too_many_joins", "Wait."), false);
  expect(busy).toMatchObject({ event: { type: "failed" }, reason: "No. (Wait.)" });
  const restarted = judgeJoin(refusedWith(404, "room_not_found", undefined), true);
  expect(restarted).toMatchObject({ event: { type: "failed" }, reason: "No." });
});
