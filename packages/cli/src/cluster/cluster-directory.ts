import type { ClusterDirectory } from "@roomhub/hub";
import type { CliContext } from "../context.ts";
import { readable, UsageError } from "../exit-code.ts";
import type { HubConfig } from "../hosting/hub-config.ts";
import { safe } from "../terminal/text.ts";

/**
 * The directory of the cluster that these settings name; not connected yet.
 *
 * @param use - `name` is shown by the NATS server, `storage` is of buckets that do not exist yet
 * @throws UsageError for URLs that are none, and for a file that cannot be read
 */
export async function directoryOf(
  context: CliContext,
  { nats, natsCreds, natsCa, natsCert, natsKey }: HubConfig["settings"],
  use: { name: string; storage: "file" | "memory" },
): Promise<ClusterDirectory> {
  const { value: urls = [], from } = nats;
  checkNatsUrls(urls);
  const warn = warningsOf(context);
  if (from === "flag" && urls.some(hasPassword))
    warn("Other users of this machine can read the password of NATS; pass it in ROOMHUB_NATS");
  const path = natsCreds.value;
  const tls = { caFile: natsCa.value, certFile: natsCert.value, keyFile: natsKey.value };
  const hasTls = Object.values(tls).some((file) => file !== undefined);
  return context.openDirectory({
    servers: urls,
    credentials: path && (await readable(`The file ${path}`, context.readFile(path))),
    tls: hasTls ? tls : undefined,
    ...use,
    onWarning: warn,
  });
}

/** Prints what an operator should know; the command continues. */
export function warningsOf(context: CliContext): (message: string) => void {
  return (message) => {
    context.stderr.write(`! ${safe(message)}\n`);
  };
}

/** @throws UsageError without the URL, which may hold a password */
function checkNatsUrls(urls: readonly string[]): void {
  const areAllUrls = urls.every((text) => {
    const url = parse(text);
    return url !== null && ["nats:", "tls:"].includes(url.protocol) && url.hostname !== "";
  });
  if (areAllUrls && urls.length > 0) return;
  throw new UsageError(
    "--nats (ROOMHUB_NATS) takes nats://HOST:PORT or tls://HOST:PORT, several with commas",
  );
}

/** @param text - a URL that {@link checkNatsUrls} accepted */
function hasPassword(text: string): boolean {
  const url = parse(text);
  return url !== null && (url.password !== "" || url.username !== "");
}

/** As it may be printed: `tls://hub:…@nats.example.org:4222`. */
export function shownNatsUrl(text: string): string {
  const url = parse(text);
  if (url === null) return "(not a URL)";
  const { protocol, username, password, host } = url;
  if (username === "") return `${protocol}//${host}`;
  // A name alone is a token.
  return `${protocol}//${password === "" ? "…" : `${username}:…`}@${host}`;
}

function parse(text: string): URL | null {
  return URL.parse(/^\w+:\/\//.test(text) ? text : `nats://${text}`);
}
