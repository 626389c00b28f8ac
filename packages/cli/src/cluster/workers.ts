import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import type { CliContext } from "../context.ts";
import { UsageError } from "../exit-code.ts";
import type { HubConfig } from "../hosting/hub-config.ts";
import { isEphemeral } from "../hosting/hub-launch.ts";
import { defaultPort } from "../rooms/hub-address.ts";
import { WORKER } from "./worker-env.ts";
import type { WorkerProcess } from "./worker-process.ts";

const firstRestartMs = 250;
const longestRestartMs = 5_000;
/** One that ran for longer did not fail at its start. */
const steadyMs = 30_000;

/** @throws UsageError */
export function workerCount(text: string): number {
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  throw new UsageError("--workers must be a number from 1 to 99");
}

/**
 * Runs several hubs on one port, each in a process of its own, until the signal aborts. Those that end are started again.
 *
 * @returns the exit code: that of the first worker that did not stop in order
 * @throws CommandError when they cannot find each other
 */
export async function runWorkers(
  context: CliContext,
  config: HubConfig,
  count: number,
  signal: AbortSignal,
): Promise<number> {
  const port = config.settings.port.value ?? defaultPort;
  if (port === 0) throw new UsageError("--workers needs a port that all of them know: --port 5050");
  const own = await ownNats(context, config, port);
  try {
    const codes = Array.from({ length: count }, (_, index) =>
      keepRunning(context, index, own?.env ?? {}, signal),
    );
    return (await Promise.all(codes)).find((code) => code !== 0) ?? 0;
  } finally {
    await own?.close();
  }
}

async function ownNats(context: CliContext, config: HubConfig, port: number) {
  if (config.settings.nats.value !== undefined) return undefined;
  const folder = isEphemeral(config)
    ? undefined
    : join(dirname(await context.usualStatePath(port)), `workers-${port}`);
  const onWarning = (message: string) => {
    context.stderr.write(`! ${message}\n`);
  };
  return context.startOwnNats({ folder, onWarning });
}

async function keepRunning(
  context: CliContext,
  index: number,
  env: Record<string, string>,
  signal: AbortSignal,
): Promise<number> {
  const isFirst: Record<string, string> = index === 0 ? { [WORKER.isFirst]: "1" } : {};
  const hubId = randomBytes(8).toString("hex");
  for (let failures = 0; ; failures++) {
    const startedMs = context.nowMs();
    const worker = context.startWorker({ ...env, ...isFirst, [WORKER.hubId]: hubId });
    const code = await untilEnded(worker, signal);
    if (signal.aborted) return code;
    if (context.nowMs() - startedMs > steadyMs) failures = 0;
    // It would fail in the same way each time: the reason is above this.
    if (code === 2) return code;
    const pauseMs = Math.min(longestRestartMs, firstRestartMs * 2 ** failures);
    context.stderr.write(`! Worker ${index + 1} ended with code ${code}; it is started again\n`);
    await pause(context, pauseMs, signal);
    if (signal.aborted) return code;
  }
}

async function untilEnded(worker: WorkerProcess, signal: AbortSignal): Promise<number> {
  const stop = () => worker.stop();
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await worker.exited;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function pause(context: CliContext, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cancel = context.after(ms, resolve);
    signal.addEventListener(
      "abort",
      () => {
        cancel();
        resolve();
      },
      { once: true },
    );
  });
}
