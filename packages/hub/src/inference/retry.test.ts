import { describe, expect, test } from "vitest";
import { aParticipant } from "../domain/room.fixture.ts";
import { parseSelector } from "../domain/selection-query.ts";
import { type FailedAttempt, type FailureCause, type NextStep, nextStep } from "./retry.ts";

const moving = ["*", "any", "model:llama3", "llama3"];

/** After the first attempt at ana, whose credentials are not known to work. */
function step(cause: FailureCause, fields: Partial<FailedAttempt> & { model?: string } = {}) {
  const { model = "*", ...rest } = fields;
  return nextStep({
    cause,
    attempts: 1,
    participant: aParticipant({ id: "ana" }),
    credentials: { haveWorked: false },
    selector: parseSelector(model),
    isPinned: false,
    isLastTarget: true,
    isLoading: false,
    ...rest,
  });
}

const worked = { credentials: { haveWorked: true } };

/** cause, before the credentials worked, after */
const table: [FailureCause, NextStep, NextStep][] = [
  ["path", "elsewhere", "elsewhere"],
  ["budget", "elsewhere", "elsewhere"],
  [401, "elsewhere", "elsewhere"],
  [407, "elsewhere", "elsewhere"],
  [403, "elsewhere", "fail"],
  [501, "elsewhere", "elsewhere"],
  [502, "elsewhere", "elsewhere"],
  // Only where another participant is ready, see `Routing.isAnotherReady`.
  [429, "elsewhere", "elsewhere"],
  [503, "elsewhere", "elsewhere"],
  ["other", "fail", "fail"],
  ...[400, 404, 408, 409, 413, 422, 500, 504, 529].map((status): [number, NextStep, NextStep] => [
    status,
    "fail",
    "fail",
  ]),
];

describe.each(table)("a failure by %s", (cause, before, after) => {
  test.each(moving)(
    `of %s leads to ${before}, and to ${after} with proven credentials`,
    (model) => {
      expect([step(cause, { model }), step(cause, { model, ...worked })]).toEqual([before, after]);
    },
  );

  test("ends a request that names the participant by its id, or that is pinned to it", () => {
    expect(step(cause, { model: "ana" })).toBe("fail");
    expect(step(cause, { isPinned: true })).toBe("fail");
  });

  test("leads to the same after the second attempt and ends the request after the third", () => {
    expect(step(cause, { attempts: 2 })).toBe(before);
    expect(step(cause, { attempts: 3 })).toBe("fail");
  });
});

describe("a tunnel that its agent never read", () => {
  test.each([...moving, "ana"])("makes a request for %s wait for the next one", (model) => {
    expect(step("unread", { model, attempts: 2 })).toBe("again");
    expect(step("unread", { model, attempts: 3 })).toBe("fail");
  });

  test("makes a pinned request wait", () => {
    expect(step("unread", { isPinned: true })).toBe("again");
  });
});

describe("a 503 of a participant that is loading", () => {
  const loading = { isLoading: true };

  test.each([...moving, "ana"])("makes a request for %s wait, whatever failed before", (model) => {
    expect(step(503, { model, ...loading })).toBe("again");
    expect(step(503, { model, ...loading, attempts: 3 })).toBe("again");
  });

  test("makes a pinned request wait", () => {
    expect(step(503, { isPinned: true, ...loading })).toBe("again");
  });

  test.each<FailureCause>(["path", 401, 403, 407, 502])(
    "is no reason to wait after %s",
    (cause) => {
      expect(step(cause, loading)).toBe("elsewhere");
      expect(step(cause, { model: "ana", ...loading })).toBe("fail");
    },
  );
});
