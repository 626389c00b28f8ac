import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import type { Metric } from "./metric.ts";
import { resourceMetrics } from "./otlp-metrics.ts";

/** As often as Prometheus reads them by the guide. */
const everyMs = 15_000;
/** For one attempt and its repetitions; short, since the next one carries the same totals. */
const timeoutMs = 5_000;

export interface MetricsSenderOptions {
  /** where to: the whole address, as `http://127.0.0.1:4318/v1/metrics` */
  url: string;
  version: string;
  /** The metrics now. */
  collect: () => Promise<readonly Metric[]>;
  /** epoch ms */
  nowMs: () => number;
  /** Calls back once after `ms`; the result cancels it. */
  after: (ms: number, callback: () => void) => () => void;
  /** Called after each attempt, with undefined for one that was accepted. */
  onSent: (failure: string | undefined) => void;
}

interface RunningMetricsSender {
  /** Sends once more, and stops. */
  close: () => Promise<void>;
}

export type SendMetrics = (options: MetricsSenderOptions) => Promise<RunningMetricsSender>;

/**
 * Sends the metrics every 15 s over OTLP, as JSON by HTTP. Headers, compression and certificates are those of OpenTelemetry's
 * variables (`OTEL_EXPORTER_OTLP_HEADERS` …). https://opentelemetry.io/docs/specs/otel/protocol/exporter/
 */
export const sendMetrics: SendMetrics = async (options) => {
  const { url, version, collect, nowMs, after, onSent } = options;
  const exporter = new OTLPMetricExporter({ url, timeoutMillis: timeoutMs });
  const startMs = nowMs();
  let cancel = () => {};
  let isClosed = false;

  const send = async (): Promise<void> => {
    const metrics = await collect();
    const collected = resourceMetrics({ version, startMs, nowMs: nowMs(), metrics });
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
    cancel = after(everyMs, () => {
      sending = sendAndWait();
    });
  };
  next();
  return {
    close: async () => {
      isClosed = true;
      cancel();
      await sending;
      await send();
      await exporter.shutdown();
    },
  };
};

type ExportResult = Parameters<Parameters<OTLPMetricExporter["export"]>[1]>[0];
