/** Every address of this machine. */
export function isWildcard(host: string | undefined): boolean {
  return host === "0.0.0.0" || host === "::";
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

export function isLoopbackReachable(host: string | undefined): boolean {
  return host === undefined || isWildcard(host) || host === "localhost";
}

export function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
