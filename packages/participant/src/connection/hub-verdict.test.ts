import { RoomhubError } from "@roomhub/client";
import { expect, test } from "vitest";
import { judgeHeartbeat, judgeJoin, judgeUpgrade } from "./hub-verdict.ts";

function refusedWith(
  status: number,
  code: string,
  hint: string | undefined,
  isFinal = false,
): RoomhubError {
  const none = { requestId: undefined, retryAfterMs: undefined, participants: undefined };
  return new RoomhubError("No.", { status, code, param: "", hint, isFinal, ...none });
}

const wrongPassword = refusedWith(401, "invalid_password", "Ask the host.");

test("a refusal stops the participant, with its hint apart from its message", () => {
  const stop = { code: "invalid_password", reason: "No.", hint: "Ask the host." };
  const expected = { event: { type: "refused", stop }, reason: "No." };
  expect(judgeJoin(wrongPassword, "no")).toEqual(expected);
  expect(judgeHeartbeat(wrongPassword)).toEqual(expected);
});

test("a temporary failure is one line that includes the hint", () => {
  const busy = judgeJoin(refusedWith(429, "too_many_joins", "Wait."), "no");
  expect(busy).toMatchObject({ event: { type: "failed" }, reason: "No. (Wait.)" });
  const restarted = judgeJoin(refusedWith(404, "room_not_found", undefined), "yes");
  expect(restarted).toMatchObject({ event: { type: "failed" }, reason: "No." });
});

test("a deleted room stops the participant, an unknown one does not", () => {
  const judged = (isFinal: boolean) =>
    judgeJoin(refusedWith(404, "room_not_found", undefined, isFinal), "yes").event.type;
  expect([judged(true), judged(false)]).toEqual(["refused", "failed"]);
});

test("only a tunnel refusal by the hub stops the participant, not one by a proxy", () => {
  const code = "participant_token_invalid";
  const body = JSON.stringify({ error: { message: "No.", type: "", param: "", code } });
  const judged = (status: number, text: string, retryAfter?: string) =>
    judgeUpgrade("hub.example", { status, retryAfter, body: text }, false);
  for (const status of [401, 403]) {
    expect(judged(status, body)).toMatchObject({ event: { type: "refused", stop: { code } } });
    for (const page of ["", "<h1>Sign in</h1>", "null", '{"error":"no"}', body.slice(0, -1)]) {
      expect(judged(status, page)).toMatchObject({ event: { type: "failed" } });
    }
  }
  expect(judged(429, "<h1>Slow down</h1>", "3")).toEqual({
    event: { type: "failed", retryAfterMs: 3_000 },
    reason: "the hub at hub.example responded 429 to the tunnel request",
  });
  expect(judged(503, body, "2")).toMatchObject({ event: { type: "failed", retryAfterMs: 2_000 } });
  expect(judged(404, "")).toMatchObject({ event: { type: "forgotten" } });
});

test("a token that proves nothing in a closed room leads to a join, which says why", () => {
  const code = "invalid_api_key";
  const body = JSON.stringify({ error: { message: "No.", type: "", param: "", code } });
  const judged = judgeUpgrade("h", { status: 401, retryAfter: undefined, body }, true);
  expect(judged.event.type).toBe("forgotten");
  expect(judgeHeartbeat(refusedWith(401, code, undefined))?.event.type).toBe("forgotten");
  expect(judgeJoin(refusedWith(401, code, undefined), "yes").event.type).toBe("refused");
});

test("a proxy's 404 does not end a session that waits to be resumed", () => {
  const body = JSON.stringify({ error: { message: "No.", type: "", param: "", code: "x" } });
  const judged = (text: string, hasSession: boolean) =>
    judgeUpgrade("h", { status: 404, retryAfter: undefined, body: text }, hasSession).event.type;
  expect([judged("no such site", true), judged(body, true)]).toEqual(["failed", "forgotten"]);
  expect(judged("no such site", false)).toBe("forgotten");
});

test("a flapping tunnel is dialled again after retry-after, with the hub's message and hint", () => {
  const error = { message: "Too many.", type: "", param: "", code: "tunnel_flapping" };
  const judged = (hint: string | undefined) => {
    const body = JSON.stringify({ error: { ...error, hint } });
    return judgeUpgrade("hub.example", { status: 429, retryAfter: "10", body }, false);
  };
  const event = { type: "failed", retryAfterMs: 10_000 };
  expect(judged("Run one.")).toEqual({ event, reason: "Too many. (Run one.)" });
  expect(judged(undefined)).toEqual({ event, reason: "Too many." });
});
