import { expect, test } from "vitest";
import { readinessOfModelList } from "./readiness.ts";

test.each([
  [200, "ready"],
  [302, "ready"],
  [401, "needs-credentials"],
  [403, "needs-credentials"],
  [404, "ready"],
  [407, "needs-credentials"],
  [429, "ready"],
  [500, "ready"],
  [502, "down"],
  [503, "loading"],
  [504, "down"],
])("status %d of the model list makes the server %s", (status, readiness) => {
  expect(readinessOfModelList(status)).toBe(readiness);
});
