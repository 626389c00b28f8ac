/** The default address of a hub on this machine. */
export const defaultPort = 5050;
export const defaultHubUrl = `http://127.0.0.1:${defaultPort}`;

/** The flag that makes `up` and `serve` listen on the port. */
export function portFlag(port: number): string {
  return port === defaultPort ? "" : ` --port ${port}`;
}

/** The URL's port, or its scheme's default. */
export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

/** @param host - a name, or an address with or without brackets */
export function isThisMachine(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || host.startsWith("127.");
}
