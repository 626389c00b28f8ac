import type { Timer, World } from "@roomhub/protocol";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { type HrTime, ValueType } from "@opentelemetry/api";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type MetricData,
  type ResourceMetrics,
} from "@opentelemetry/sdk-metrics";
import type { Metric, Point } from "./series.ts";

/** As often as Prometheus reads them by the guide. */
const everyMs = 15_000;
/** Limit of one export, retries included. It is short because the next export has the same totals. */
const timeoutMs = 5_000;

export interface MetricsSenderOptions {
  /** where to: the whole address, as `http://127.0.0.1:4318/v1/metrics` */
  url: string;
  version: string;
  /** The metrics now. */
  collect: () => Promise<readonly Metric[]>;
  world: World;
  /** Called after each attempt, with undefined for one that was accepted. */
  onSent: (failure: string | undefined) => void;
}

/**
 * Sends the metrics every 15 s over OTLP, as JSON by HTTP. Headers, compression and certificates are those of OpenTelemetry's
 * variables (`OTEL_EXPORTER_OTLP_HEADERS` …). https://opentelemetry.io/docs/specs/otel/protocol/exporter/
 *
 * @returns sends once more, and stops
 */
export function sendMetrics(options: MetricsSenderOptions): { close: () => Promise<void> } {
  const { url, version, collect, world, onSent } = options;
  const exporter = new OTLPMetricExporter({ url, timeoutMillis: timeoutMs });
  const startMs = world.wallMs();
  let timer: Timer | undefined;
  let isClosed = false;

  const send = async (): Promise<void> => {
    const metrics = await collect();
    const collected = resourceMetrics({ version, startMs, nowMs: world.wallMs(), metrics });
    const { error } = await new Promise<ExportResult>((resolve) => {
      exporter.export(collected, resolve);
    });
    onSent(error?.message);
  };
  /** Never two at a time: a slow receiver gets the totals later, not more often. */
  let sending = Promise.resolve();
  const sendAndWait = async () => {
    await send();
    if (!isClosed) next();
  };
  const next = () => {
    timer = world.setTimeout(() => {
      sending = sendAndWait();
    }, everyMs);
  };
  next();
  return {
    close: async () => {
      isClosed = true;
      world.clearTimeout(timer);
      await sending;
      await send();
      await exporter.shutdown();
    },
  };
}

type ExportResult = Parameters<Parameters<OTLPMetricExporter["export"]>[1]>[0];

/** The metrics of one program since it started. */
interface Collected {
  version: string;
  /** epoch ms; what the metrics have counted since */
  startMs: number;
  /** epoch ms */
  nowMs: number;
  metrics: readonly Metric[];
}

/** Metrics as the exporters of OpenTelemetry's SDK take them, cumulative since `startMs`. */
function resourceMetrics({ version, startMs, nowMs, metrics }: Collected): ResourceMetrics {
  const times = { startTime: hrTime(startMs), endTime: hrTime(nowMs) };
  return {
    resource: resourceFromAttributes({ "service.name": "roomhub", "service.version": version }),
    scopeMetrics: [
      { scope: { name: "roomhub", version }, metrics: metrics.map((one) => dataOf(one, times)) },
    ],
  };
}

type Times = Pick<DataPoint<number>, "startTime" | "endTime">;

function dataOf(metric: Metric, times: Times): MetricData {
  const { name, unit, help: description } = metric;
  const aggregationTemporality = AggregationTemporality.CUMULATIVE;
  const descriptor = { name, unit, description };
  switch (metric.kind) {
    case "counter":
    case "gauge": {
      const sum = { dataPointType: DataPointType.SUM, isMonotonic: true } as const;
      const type =
        metric.kind === "counter" ? sum : ({ dataPointType: DataPointType.GAUGE } as const);
      return {
        descriptor: { ...descriptor, valueType: ValueType.INT },
        aggregationTemporality,
        ...type,
        dataPoints: metric.points.map((point) => dataPoint(point, times)),
      };
    }
    case "histogram":
      return {
        descriptor: { ...descriptor, valueType: ValueType.DOUBLE },
        aggregationTemporality,
        dataPointType: DataPointType.HISTOGRAM,
        dataPoints: metric.points.map(({ labels, value: { boundaries, counts, sum } }) => {
          const buckets = { boundaries: [...boundaries], counts: [...counts] };
          const count = counts.reduce((total, one) => total + one, 0);
          return dataPoint({ labels, value: { buckets, sum, count } }, times);
        }),
      };
  }
}

function dataPoint<Value>({ labels, value }: Point<Value>, times: Times): DataPoint<Value> {
  return { ...times, attributes: labels, value };
}

function hrTime(ms: number): HrTime {
  return [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1e6)];
}
