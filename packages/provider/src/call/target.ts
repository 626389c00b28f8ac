/** Where calls to one base URL go, taken apart once. */
export interface ProviderTarget {
  isSecure: boolean;
  /** without brackets */
  hostname: string;
  port: number;
  /** without a trailing slash; then the query, if any */
  basePath: string;
  /** as the `Host` header has it */
  host: string;
  /** `host:port`, for messages */
  label: string;
}

/** @throws TypeError when `baseUrl` did not come from `checkEndpoint` */
export function parseTarget(baseUrl: string): ProviderTarget {
  const url = new URL(baseUrl);
  const isSecure = url.protocol === "https:";
  const port = url.port === "" ? (isSecure ? 443 : 80) : Number(url.port);
  return {
    isSecure,
    hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port,
    host: url.host,
    basePath: url.pathname.replace(/\/+$/, "") + url.search,
    label: `${url.hostname}:${port}`,
  };
}
