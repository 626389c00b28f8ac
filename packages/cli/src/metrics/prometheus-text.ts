import type { Histogram } from "./histogram.ts";
import type { Metric } from "./metric.ts";
import type { Labels, Point } from "./series.ts";

/** Of a response in the text format. https://prometheus.io/docs/instrumenting/exposition_formats/ */
export const PROMETHEUS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Metrics in Prometheus' text format, under the names that OpenTelemetry's rules give them there.
 * https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/
 */
export function prometheusText(metrics: readonly Metric[]): string {
  return metrics.map(metricText).join("");
}

function metricText(metric: Metric): string {
  const name = nameOf(metric);
  const heading = `# HELP ${name} ${metric.help}\n# TYPE ${name} ${metric.kind}\n`;
  return heading + linesOf(name, metric).join("");
}

function nameOf({ name, unit, kind }: Metric): string {
  return (
    underscored(name) + (unit === "s" ? "_seconds" : "") + (kind === "counter" ? "_total" : "")
  );
}

function linesOf(name: string, metric: Metric): string[] {
  if (metric.kind === "histogram") return metric.points.map((point) => bucketLines(name, point));
  return metric.points.map(({ labels, value }) => `${name}${labelText(labels)} ${value}\n`);
}

function bucketLines(name: string, { labels, value }: Point<Histogram>): string {
  let total = 0;
  const limits = [...value.boundaries.map(String), "+Inf"];
  const buckets = limits.map((le, index) => {
    total += value.counts[index] ?? 0;
    return `${name}_bucket${labelText({ ...labels, le })} ${total}\n`;
  });
  const own = labelText(labels);
  return `${buckets.join("")}${name}_sum${own} ${value.sum}\n${name}_count${own} ${total}\n`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${underscored(name)}="${escapeLabel(value)}"`,
  );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function underscored(name: string): string {
  return name.replaceAll(".", "_");
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
