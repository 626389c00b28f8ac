import type { Histogram } from "./histogram.ts";
import type { Labels, Series } from "./series.ts";

/** Of a response in the text format. https://prometheus.io/docs/instrumenting/exposition_formats/ */
export const PROMETHEUS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

interface Described {
  name: string;
  help: string;
}

/** A number that only grows. */
export interface Count {
  total: number;
}

/** @returns lines, each with its line break */
export function counterText(metric: Described, series: Series<Count>): string {
  const lines = [...series.entries()].map(
    ({ labels, value }) => `${metric.name}${labelText(labels)} ${value.total}\n`,
  );
  return heading(metric, "counter") + lines.join("");
}

/** @returns lines, each with its line break */
export function gaugeText(
  metric: Described,
  values: Iterable<{ labels: Labels; value: number }>,
): string {
  const lines = [...values].map(
    ({ labels, value }) => `${metric.name}${labelText(labels)} ${value}\n`,
  );
  return heading(metric, "gauge") + lines.join("");
}

/** @returns lines, each with its line break */
export function histogramText(metric: Described, series: Series<Histogram>): string {
  return (
    heading(metric, "histogram") +
    [...series.entries()].map(({ labels, value }) => bucketLines(metric, labels, value)).join("")
  );
}

function bucketLines({ name }: Described, labels: Labels, histogram: Histogram): string {
  const counts = histogram.cumulativeCounts();
  const limits = [...histogram.boundaries.map(String), "+Inf"];
  const buckets = limits.map(
    (le, index) => `${name}_bucket${labelText({ ...labels, le })} ${counts[index] ?? 0}\n`,
  );
  const own = labelText(labels);
  return `${buckets.join("")}${name}_sum${own} ${histogram.sum}\n${name}_count${own} ${counts.at(-1) ?? 0}\n`;
}

function heading({ name, help }: Described, type: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
