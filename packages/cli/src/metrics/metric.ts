import type { Histogram } from "./histogram.ts";
import type { Point } from "./series.ts";

interface Described {
  /** as OpenTelemetry spells it: parts separated by dots */
  name: string;
  /** in UCUM: `s`, an annotation as `{request}`, or empty */
  unit: string;
  help: string;
}

/** One metric now, of which every writer makes its own form. Counters and histograms only grow. */
export type Metric = Described &
  (
    | { kind: "counter" | "gauge"; points: readonly Point<number>[] }
    | { kind: "histogram"; points: readonly Point<Histogram>[] }
  );
