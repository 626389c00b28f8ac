import { duration } from "../terminal/text.ts";
import type { Check } from "./check.ts";
import { failed, ok, skipped } from "./finding.ts";

/** Larger than network delay alone explains. */
const largestSkewMs = 60_000;

/** Certificates and event timestamps depend on the clocks of both machines. */
export const clockCheck: Check = {
  name: "clock",
  waitsFor: "nothing",
  timeoutMs: 1_000,
  run({ clockSkewMs }) {
    if (clockSkewMs === undefined) return skipped("needs the hub");
    const apart = duration(Math.abs(clockSkewMs));
    if (Math.abs(clockSkewMs) <= largestSkewMs) return ok(`within ${apart} of the hub's`);
    const direction = clockSkewMs > 0 ? "behind" : "ahead of";
    return failed(
      `this machine's clock is ${apart} ${direction} the hub's`,
      "synchronize both clocks: sudo timedatectl set-ntp true",
    );
  },
};
