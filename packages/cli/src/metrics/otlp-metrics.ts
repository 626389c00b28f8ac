import { type HrTime, ValueType } from "@opentelemetry/api";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type MetricData,
  type ResourceMetrics,
} from "@opentelemetry/sdk-metrics";
import type { Metric } from "./metric.ts";
import type { Point } from "./series.ts";

/** Of one program, over a stretch of time. */
export interface Collected {
  version: string;
  /** epoch ms; what the metrics have counted since */
  startMs: number;
  /** epoch ms */
  nowMs: number;
  metrics: readonly Metric[];
}

/** Metrics as the exporters of OpenTelemetry's SDK take them, cumulative since `startMs`. */
export function resourceMetrics({ version, startMs, nowMs, metrics }: Collected): ResourceMetrics {
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
      return {
        descriptor: { ...descriptor, valueType: ValueType.INT },
        aggregationTemporality,
        ...{ dataPointType: DataPointType.SUM, isMonotonic: true },
        dataPoints: metric.points.map((point) => dataPoint(point, times, itself)),
      };
    case "gauge":
      return {
        descriptor: { ...descriptor, valueType: ValueType.INT },
        aggregationTemporality,
        dataPointType: DataPointType.GAUGE,
        dataPoints: metric.points.map((point) => dataPoint(point, times, itself)),
      };
    case "histogram":
      return {
        descriptor: { ...descriptor, valueType: ValueType.DOUBLE },
        aggregationTemporality,
        dataPointType: DataPointType.HISTOGRAM,
        dataPoints: metric.points.map((point) =>
          dataPoint(point, times, ({ boundaries, counts, sum }) => ({
            buckets: { boundaries: [...boundaries], counts: [...counts] },
            sum,
            count: counts.reduce((total, count) => total + count, 0),
          })),
        ),
      };
  }
}

function dataPoint<Value, Sent>(
  { labels, value }: Point<Value>,
  times: Times,
  sent: (value: Value) => Sent,
): DataPoint<Sent> {
  return { ...times, attributes: labels, value: sent(value) };
}

function itself(value: number): number {
  return value;
}

function hrTime(ms: number): HrTime {
  return [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1e6)];
}
