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
  expect(judged(429, "<h1>Slow down</h1>", "3")).toEqual({
    event: { type: "failed", retryAfterMs: 3_000 },
    reason: "the hub at hub.example answered 429 to the tunnel",
  });
  expect(judged(503, body, "2")).toMatchObject({ event: { type: "failed", retryAfterMs: 2_000 } });
  expect(judged(404, "")).toMatchObject({ event: { type: "forgotten" } });
});

test("a tunnel that flaps is dialled again after the pause, for the hub's own reason and next step", () => {
  const error = { message: "Too many.", type: "", param: "", code: "tunnel_flapping" };
  const judged = (hint: string | undefined) => {
    const body = JSON.stringify({ error: { ...error, hint } });
    return judgeUpgrade("hub.example", { status: 429, retryAfter: "10", body });
  };
  const event = { type: "failed", retryAfterMs: 10_000 };
  expect(judged("Run one.")).toEqual({ event, reason: "Too many. (Run one.)" });
  expect(judged(undefined)).toEqual({ event, reason: "Too many." });
});
