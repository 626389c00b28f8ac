import type { CliContext } from "../context.ts";
import { safe } from "../terminal/text.ts";
import type { MonitorOptions } from "./page-server.ts";

/**
 * Serves the page beside a hub, on the loopback address. Without it the hub is as useful, so a failure is only reported.
 *
 * @param closers - gets what closes it
 * @returns its URL
 */
export async function startMonitor(
  context: CliContext,
  room: MonitorOptions["room"],
  closers: (() => Promise<void>)[],
): Promise<string | undefined> {
  try {
    const page = await context.serveMonitor({ port: undefined, room });
    closers.push(() => page.close());
    return `http://127.0.0.1:${page.port}`;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    context.stderr.write(`! The page that watches the room is not served: ${safe(reason)}\n`);
    return undefined;
  }
}
