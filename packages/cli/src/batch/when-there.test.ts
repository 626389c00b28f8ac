import { HubUnreachableError, RoomhubError } from "@roomhub/client";
import { expect, test } from "vitest";
import { makeWorld, passing } from "../test-context.fixture.ts";
import { whenThere } from "./when-there.ts";

const away = () => new HubUnreachableError("http://h:5050", new Error("connect ECONNREFUSED"));
const nothing = { hint: undefined, requestId: undefined, retryAfterMs: undefined };
const refused = (status: number) =>
  new RoomhubError("No.", { status, code: "", param: "", participants: undefined, ...nothing });

/** Work that fails in these ways, one after the other, and then succeeds. */
function failing(...errors: Error[]) {
  const left = [...errors];
  return async () => {
    const error = left.shift();
    if (error !== undefined) throw error;
    return "done";
  };
}

test("a hub that is away is asked until it is there, and one line says so", async () => {
  const { context, stderr } = makeWorld();
  const patience = { signal: new AbortController().signal, untilMs: undefined };
  const work = failing(away(), refused(503), away(), refused(502));
  expect(await whenThere(context, patience, work)).toBe("done");
  expect(stderr.text).toBe(
    "! Hub at http://h:5050 is unreachable: connect ECONNREFUSED. Waiting for it; Ctrl+C stops\n",
  );
});

test("the wait ends at its time, and continues with the same command", async () => {
  let nowMs = 0;
  const world = passing({
    nowMs: () => nowMs,
    after: (ms, task) => {
      nowMs += ms;
      setImmediate(task);
      return () => {};
    },
  });
  const { context, stderr } = makeWorld({ world });
  const patience = { signal: new AbortController().signal, untilMs: 60_000 };
  const waiting = whenThere(context, patience, () => Promise.reject(away()));
  await expect(waiting).rejects.toMatchObject({
    ...{ exitCode: 7, message: "Stopped before the hub was there. Nothing was sent" },
  });
  expect(nowMs).toBe(60_000);
  expect(stderr.text).toMatch(/Waiting for it until \d\d:\d\d/);
});

test("the wait ends when the command is stopped, also while the hub is silent", async () => {
  const { context } = makeWorld();
  const stop = new AbortController();
  const silent = new Promise<never>(() => {});
  const waiting = whenThere(context, { signal: stop.signal, untilMs: undefined }, () => silent);
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ exitCode: 7 });
});

test.each([
  ["a room that there is not", refused(404)],
  ["a certificate that is not trusted", tlsError()],
])("nothing is waited for at %s", async (_what, error) => {
  const { context, stderr } = makeWorld();
  const patience = { signal: new AbortController().signal, untilMs: undefined };
  await expect(whenThere(context, patience, failing(error))).rejects.toBe(error);
  expect(stderr.text).toBe("");
});

function tlsError(): Error {
  const cause = Object.assign(new Error("expired"), { code: "CERT_HAS_EXPIRED" });
  return new HubUnreachableError("https://h:5050", cause);
}
