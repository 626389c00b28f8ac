import { isLoopbackHost } from "@roomhub/protocol";
import { EXIT } from "../exit-code.ts";
import { portFlag, portOf, defaultPort } from "../rooms/hub-address.ts";
import { safe } from "../terminal/text.ts";
import { type Check, type Examination, failed, type Finding, ok, skipped } from "./check.ts";

/** Whether the hub's port accepts connections. */
export const portCheck: Check = {
  name: "port",
  waitsFor: "a connection to the hub's port",
  timeoutMs: 5_000,
  async run(exam, signal) {
    const url = new URL(exam.hubUrl);
    const usesProxy = (exam.context.env["NODE_USE_ENV_PROXY"] ?? "") !== "";
    if (usesProxy && (await exam.machine.proxyFor(url)) !== undefined) {
      return skipped("connections go through a proxy");
    }
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
    const port = portOf(url);
    try {
      const address = await exam.machine.reach(host, port, signal);
      return ok(`port ${port} is open${address === host ? "" : ` at ${safe(address)}`}`);
    } catch (error) {
      exam.isPortOpen = false;
      signal.throwIfAborted();
      return unreachable(exam, { host, port }, error);
    }
  },
};

function unreachable(
  { context: { commandName } }: Examination,
  { host, port }: { host: string; port: number },
  error: unknown,
): Finding {
  const code = codeOf(error);
  const flag = portFlag(port);
  // The default port is checked when no hub is named, and the intended hub may be on another machine.
  const elsewhere =
    port === defaultPort
      ? `; or check a remote hub: ${commandName} doctor http://HOST:${defaultPort}`
      : "";
  const exitCode = EXIT.unreachable;
  if (code === "ECONNREFUSED" && isLoopbackHost(host)) {
    return failed(
      `port ${port} is closed: no hub is running on this machine`,
      `${commandName} up${flag}${elsewhere}`,
      { exitCode },
    );
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return failed(
      `the host name ${safe(host)} does not resolve (${code})`,
      "check the hub URL for a typo",
      {
        exitCode,
      },
    );
  }
  const what =
    code === "ECONNREFUSED"
      ? `${safe(host)} is reachable, but its port ${port} is closed`
      : `port ${port} at ${safe(host)} cannot be reached (${code})`;
  const fix = isLoopbackHost(host)
    ? `${commandName} up${flag}`
    : `on that machine, start the hub with --lan${flag}; then check its firewall`;
  return failed(what, fix, { exitCode });
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : String(error);
}
