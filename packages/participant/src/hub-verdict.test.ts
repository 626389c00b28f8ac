import { RoomhubError } from "@roomhub/client";
import { expect, test } from "vitest";
import { judgeHeartbeat, judgeJoin, judgeUpgrade } from "./hub-verdict.ts";

function refusedWith(status: number, code: string, hint: string | undefined): RoomhubError {
  const none = { requestId: undefined, retryAfterMs: undefined, participants: undefined };
  return new RoomhubError("No.", { status, code, param: "", hint, ...none });
}

const wrongPassword = refusedWith(401, "invalid_password", "Ask the host.");

test("a refusal stops, and its next step stands apart from what happened", () => {
  const stop = { code: "invalid_password", reason: "No.", hint: "Ask the host." };
  const expected = { event: { type: "refused", stop }, reason: "No." };
  expect(judgeJoin(wrongPassword, "no")).toEqual(expected);
  expect(judgeHeartbeat(wrongPassword)).toEqual(expected);
});

test("what passes is told in one line, the next step in it", () => {
  const busy = judgeJoin(refusedWith(429, "too_many_joins", "Wait."), "no");
  expect(busy).toMatchObject({ event: { type: "failed" }, reason: "No. (Wait.)" });
  const restarted = judgeJoin(refusedWith(404, "room_not_found", undefined), "yes");
  expect(restarted).toMatchObject({ event: { type: "failed" }, reason: "No." });
});

test("only the hub's own refusal of a tunnel stops, not that of somebody on the way to it", () => {
  const code = "participant_token_invalid";
  const body = JSON.stringify({ error: { message: "No.", type: "", param: "", code } });
  const judged = (status: number, text: string, retryAfter?: string) =>
    judgeUpgrade("hub.example", { status, retryAfter, body: text });
  for (const status of [401, 403]) {
    expect(judged(status, body)).toMatchObject({ event: { type: "refused", stop: { code } } });
    for (const page of ["", "<h1>Sign in</h1>", "null", '{"error":"no"}', body.slice(0, -1)]) {
      expect(judged(status, page)).toMatchObject({ event: { type: "failed" } });
    }
  }
  expect(judged(503, body, "2")).toMatchObject({ event: { type: "failed", retryAfterMs: 2_000 } });
  expect(judged(404, "")).toMatchObject({ event: { type: "forgotten" } });
});
