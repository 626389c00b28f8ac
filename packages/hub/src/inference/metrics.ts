import { type Metrics, tokensPerSecond, type Usage } from "@roomhub/protocol";

/**
 * Interface §6: hub-observed, client latency excluded. Unknown values are absent.
 *
 * @param ttftMs - to the first generated content or first body byte
 * @param durationMs - of the whole request
 */
export function metricsOf(ttftMs: number, durationMs: number, usage: Usage): Metrics {
  // Only some programs report it, and ttftMs says as much.
  const { promptMs: _promptMs, ...counts } = usage;
  const metrics: Metrics = { ttftMs: rounded(ttftMs), durationMs: rounded(durationMs), ...counts };
  const speed = tokensPerSecond(usage, durationMs);
  if (speed !== undefined) metrics.tokensPerSecond = rounded(speed);
  return metrics;
}

/** Microseconds are noise in an event. */
export function rounded(value: number): number {
  return Math.round(Math.max(0, value) * 100) / 100;
}
