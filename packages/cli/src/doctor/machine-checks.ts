import { type Check, failed, ok } from "./check.ts";
import { safe } from "../terminal/text.ts";
import { isOlder } from "../rooms/hub-health.ts";

/** The versions of Node and of this program. */
export const programCheck: Check = {
  name: "program",
  waitsFor: "nothing",
  timeoutMs: 1_000,
  run({ context, machine }) {
    const { nodeVersion, neededNode } = machine;
    if (!isOlder(nodeVersion, `${neededNode}.0`)) {
      return ok(`Node ${nodeVersion}, roomhub ${context.version}`);
    }
    return failed(
      `roomhub ${context.version} requires Node ${neededNode} or newer; this is Node ${nodeVersion}`,
      "install one: https://nodejs.org",
    );
  },
};

const variables = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];

/** Whether the environment sets a proxy between here and the hub, and whether that makes sense. */
export const proxyCheck: Check = {
  name: "proxy",
  waitsFor: "nothing",
  timeoutMs: 1_000,
  async run({ context: { env }, machine, hubUrl }) {
    const set = variables.flatMap((name) =>
      [name, name.toLowerCase()].filter((spelling) => (env[spelling] ?? "") !== ""),
    );
    if (set.length === 0) return ok("no proxy is set");
    const url = new URL(hubUrl);
    const proxy = await machine.proxyFor(url);
    const names = set.join(", ");
    if (proxy === undefined) return ok(`${names} set, but not used for the hub`);
    const host = hostOf(proxy);
    if (host === undefined)
      return failed(`${names}: the value is not a URL`, `correct it, or: unset ${names}`);
    if (isPrivate(url.hostname)) {
      return failed(
        `join uses the proxy ${safe(host)} for ${safe(url.hostname)}, which is on a private network`,
        `export NO_PROXY=${[env["NO_PROXY"] ?? env["no_proxy"], url.hostname].filter(Boolean).join(",")}`,
      );
    }
    return (env["NODE_USE_ENV_PROXY"] ?? "") === ""
      ? ok(`join uses the proxy ${safe(host)}; other commands use it with NODE_USE_ENV_PROXY=1`)
      : ok(`all commands use the proxy ${safe(host)}`);
  },
};

/** Leaves out the user name and password the URL may contain. */
function hostOf(proxy: string): string | undefined {
  return URL.canParse(proxy) ? new URL(proxy).host : undefined;
}

function isPrivate(hostname: string): boolean {
  return /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)|\.local$|^[^.:[\]]+$/.test(hostname);
}
