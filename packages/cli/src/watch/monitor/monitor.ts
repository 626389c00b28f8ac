import { isWildcard, urlOf } from "../../rooms/hub-address.ts";
import type { CliContext } from "../../context.ts";
import { explained } from "../../exit-code.ts";
import { type HubOptionValues, portArgument, type RoomhubCommand } from "../../options.ts";
import { otherAddress, refusePublic } from "../public-address.ts";
import { locateRoom } from "../../rooms/locate.ts";
import { aborted, untilStopped } from "../../terminal/stop-signal.ts";
import { writeJson } from "../../terminal/text.ts";

interface MonitorOptionValues extends HubOptionValues {
  host?: string;
  port?: number;
  open: boolean;
  public?: boolean;
}

export function addMonitorCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("monitor")
    .hubOptions()
    .argument("[room]", "room code, invite URL or hub URL (default: the hub's only room)")
    .option(
      "--host <address>",
      "address to serve it on; 0.0.0.0 for the network (default: 127.0.0.1)",
    )
    .option("--public", "serve a closed room's page on another address than loopback")
    .option("--port <number>", "port to serve it on (default: 5051, or a free one)", portArgument)
    .option("--no-open", "do not open the browser")
    .examples("roomhub monitor", "roomhub monitor ABC234 --host 0.0.0.0 --no-open")
    .action((target: string | undefined, options: MonitorOptionValues) =>
      monitor(context, target, options),
    );
}

/** Runs until stopped. */
async function monitor(
  context: CliContext,
  target: string | undefined,
  options: MonitorOptionValues,
): Promise<void> {
  const { hubUrl, room: code } = await locateRoom(
    context,
    target,
    options,
    (url) => `monitor ${url}`,
  );
  await refusePublic(context, { hubUrl, room: code }, options);
  await untilStopped(context, async (signal) => {
    const { host, port } = options;
    const page = await explained(
      "The page cannot be served",
      otherAddress,
      context.serveMonitor({ host, port, room: { hubUrl, code } }),
    );
    try {
      const urls = urlsOf(context, host, page.port);
      const [url = ""] = urls;
      if (options.json === true) writeJson(context.stdout, { urls, hubUrl, room: code });
      else context.stdout.write(urls.map((each) => `${each}\n`).join(""));
      context.stderr.write(`Room ${code} of ${hubUrl}; Ctrl+C stops\n`);
      if (options.open) context.openBrowser(url);
      await aborted(signal);
    } finally {
      await page.close();
    }
  });
}

/** The page's URLs, the one for this machine first. */
function urlsOf(context: CliContext, host = "127.0.0.1", port: number): string[] {
  if (!isWildcard(host)) return [urlOf(host, port)];
  const others = context.lanAddresses().map(({ address }) => address);
  return ["127.0.0.1", ...others].map((address) => urlOf(address, port));
}
