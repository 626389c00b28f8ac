import { HubUnreachableError, RoomhubError } from "@roomhub/client";
import { pause } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { aborted } from "../terminal/stop-signal.ts";
import { clockTime, reasonOf, safe } from "../terminal/text.ts";

export interface Patience {
  /** ends the wait */
  signal: AbortSignal;
  /** epoch ms at which the wait ends; undefined for never */
  untilMs: number | undefined;
}

const firstPauseMs = 500;
/** As often as a batch that has begun looks at the room. */
const longestPauseMs = 5_000;

/**
 * Does what needs the hub, again and again while that is away, with one line that says so.
 *
 * @throws CommandError when the wait has ended before the hub was there; whatever else `work` throws
 */
export async function whenThere<T>(
  context: CliContext,
  { signal, untilMs = Number.POSITIVE_INFINITY }: Patience,
  work: () => Promise<T>,
): Promise<T> {
  const { world, stderr } = context;
  const stopped = aborted(signal).then(() => Promise.reject(notThere()));
  let pauseMs = firstPauseMs;
  for (;;) {
    try {
      return await Promise.race([work(), stopped]);
    } catch (error) {
      if (!isAway(error)) throw error;
      if (pauseMs === firstPauseMs) {
        const until = Number.isFinite(untilMs) ? ` until ${clockTime(untilMs)}` : "";
        stderr.write(`! ${safe(reasonOf(error))}. Waiting for it${until}; Ctrl+C stops\n`);
      }
    }
    await pause(world, Math.min(pauseMs, untilMs - world.wallMs()), signal);
    if (world.wallMs() >= untilMs) throw notThere();
    pauseMs = Math.min(longestPauseMs, 2 * pauseMs);
  }
}

function notThere(): CommandError {
  const what = "Stopped before the hub was there. Nothing was sent";
  return new CommandError(what, "to continue, run the same command", EXIT.stopped);
}

/** It may come back by itself. What answers for it, such as a proxy, says the same by a status. */
function isAway(error: unknown): boolean {
  if (error instanceof HubUnreachableError) return !error.isTlsProblem;
  return error instanceof RoomhubError && error.status >= 502 && error.status <= 504;
}
