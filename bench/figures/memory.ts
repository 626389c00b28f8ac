import type { Child } from "../../tests/faults/child.ts";
import { pauseMs } from "../../tests/faults/figure.ts";
import { median } from "./spread.ts";

/** Resident memory once pending work is done: the median of a second. */
export async function settledRssBytes(child: Child): Promise<number> {
  await pauseMs(1_500);
  const seen: number[] = [];
  for (let at = 0; at < 5; at++) {
    seen.push(child.rssBytes());
    await pauseMs(200);
  }
  return median(seen);
}
