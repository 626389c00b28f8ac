import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";

/** The current addresses of this machine. */
export function* interfaceAddresses(): Iterable<string> {
  for (const infos of Object.values(networkInterfaces())) {
    for (const { address } of infos ?? []) yield address;
  }
}

export function packageVersion(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** A wildcard address cannot be dialled. */
export function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
