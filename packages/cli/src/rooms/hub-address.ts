import { type Invite, pinnedHostOf } from "@roomhub/client";

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

/** Every address of this machine. */
export function isWildcard(host: string | undefined): boolean {
  return host === "0.0.0.0" || host === "::";
}

export function urlOf(host: string, port: number, isTls = false): string {
  return `${isTls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A bare host name gets the hub's default port instead of the scheme's. */
export function withPort(target: string): string {
  return /^[^/:]+$/.test(target) ? `${target}:${defaultPort}` : target;
}

/** A room as the argument of a command on this machine. */
export function roomArgumentOf({ hubUrl, room }: Invite): string {
  return hubUrl === defaultHubUrl ? room : `${hubUrl}/rooms/${room}`;
}

/** The same for both schemes of a hub's URL: a pin, or its absence in a later command, changes it. */
export function hubIdOf(hubUrl: string): string {
  return `${pinnedHostOf(hubUrl)}${new URL(hubUrl).pathname.replace(/\/+$/, "")}`;
}
