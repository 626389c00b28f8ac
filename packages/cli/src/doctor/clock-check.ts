import { duration } from "../terminal/text.ts";
import type { Check } from "./check.ts";
import { failed, ok, skipped } from "./finding.ts";

/** Further apart than anything but a wrong clock explains. */
const largestSkewMs = 60_000;

/** Certificates and the times of events go by the clocks of both machines. */
export const clockCheck: Check = {
  name: "clock",
  waitsFor: "nothing",
  timeoutMs: 1_000,
  look({ clockSkewMs }) {
    if (clockSkewMs === undefined) return skipped("needs the hub");
    const apart = duration(Math.abs(clockSkewMs));
    if (Math.abs(clockSkewMs) <= largestSkewMs) return ok(`${apart} from the hub's`);
    const direction = clockSkewMs > 0 ? "behind" : "ahead of";
    return failed(
      `this machine's clock is ${apart} ${direction} the hub's`,
      "set both by the network's time: sudo timedatectl set-ntp true",
    );
  },
};
