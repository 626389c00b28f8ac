import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen, type LocalServer } from "../../local-server.ts";
import { reasonOf } from "../../terminal/text.ts";
import type { Histogram, Labels, Metric, Point } from "./series.ts";

export interface MetricsServerOptions {
  host: string;
  /** 0: any free one */
  port: number;
  /** The metrics now. */
  text: () => Promise<string>;
}

/**
 * Serves `GET /metrics`, and nothing else.
 *
 * @throws NodeJS.ErrnoException when the port cannot be opened
 */
export function serveMetrics({ host, port, text }: MetricsServerOptions): Promise<LocalServer> {
  const server = createServer((request, response) => {
    void respond(request, response, text);
  });
  return listen(server, host, port);
}

async function respond(
  { url = "/", method }: IncomingMessage,
  response: ServerResponse,
  text: () => Promise<string>,
): Promise<void> {
  if (url.split("?")[0] !== "/metrics") {
    response.writeHead(404, { "content-type": "text/plain" }).end("The path is /metrics\n");
    return;
  }
  if (method !== "GET" && method !== "HEAD") {
    response.writeHead(405, { allow: "GET, HEAD" }).end();
    return;
  }
  try {
    const body = await text();
    response.writeHead(200, { "content-type": PROMETHEUS_CONTENT_TYPE });
    response.end(method === "HEAD" ? undefined : body);
  } catch (error) {
    response.writeHead(500, { "content-type": "text/plain" }).end(`${reasonOf(error)}\n`);
  }
}

/** The media type of the text format. https://prometheus.io/docs/instrumenting/exposition_formats/ */
const PROMETHEUS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

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
