import { EXIT } from "../exit-code.ts";
import { isThisMachine, portFlag, portOf, usualPort } from "../rooms/hub-address.ts";
import { safe } from "../terminal/text.ts";
import type { Check, Examination } from "./check.ts";
import { failed, type Finding, ok, skipped } from "./finding.ts";

/** Whether anybody listens where the hub should. */
export const portCheck: Check = {
  name: "port",
  waitsFor: "a connection to the hub's port",
  timeoutMs: 5_000,
  async look(exam, signal) {
    const url = new URL(exam.hubUrl);
    const usesProxy = (exam.context.env["NODE_USE_ENV_PROXY"] ?? "") !== "";
    if (usesProxy && (await exam.machine.proxyFor(url)) !== undefined) {
      return skipped("a proxy connects for us");
    }
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
    const port = portOf(url);
    try {
      const address = await exam.machine.reach(host, port, signal);
      return ok(`somebody listens at ${address === host ? "" : `${safe(address)}, `}port ${port}`);
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
  // The usual port is looked at when nobody named a hub, and the one that was meant may be on another machine.
  const elsewhere =
    port === usualPort
      ? `; or look at a hub elsewhere: ${commandName} doctor http://HOST:${usualPort}`
      : "";
  const exitCode = EXIT.unreachable;
  if (code === "ECONNREFUSED" && isThisMachine(host)) {
    return failed(
      `nobody listens on port ${port} of this machine: the port is free`,
      `${commandName} up${flag}${elsewhere}`,
      { exitCode },
    );
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return failed(
      `the name ${safe(host)} leads nowhere (${code})`,
      "check the hub URL for a typo",
      {
        exitCode,
      },
    );
  }
  const what =
    code === "ECONNREFUSED"
      ? `${safe(host)} is there, but nobody listens on its port ${port}`
      : `${safe(host)}, port ${port}, cannot be reached (${code})`;
  const fix = isThisMachine(host)
    ? `${commandName} up${flag}`
    : `on that machine, open the hub to its network: ${commandName} up --lan${flag}; then its firewall`;
  return failed(what, fix, { exitCode });
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : String(error);
}
