import { BlockList, isIP } from "node:net";
import type { IncomingMessage } from "node:http";
import type { Source } from "../inference/sender/senders.ts";
import type { Credentials, Peer } from "../operations/context.ts";

export interface PeerOptions {
  /** proxies whose forwarding headers are trusted, as addresses or CIDR */
  trustedProxies: readonly string[];
  /** addresses that many clients have, such as a container's gateway */
  sharedAddresses: readonly string[];
  /** off behind a public URL or with strict ownership: then an address proves nothing. Contract §3 */
  hasAddressRights: boolean;
  credentialsFrom: (headers: IncomingMessage["headers"]) => Credentials;
  isOperator: (headers: IncomingMessage["headers"]) => boolean;
  /** Called once, for the first untrusted proxy. */
  onUntrustedProxy: () => void;
}

/** Which client sent a request, and under which name it addressed the hub. */
export interface PeerReader {
  peerOf(request: IncomingMessage): Peer;
  /** The part of the peer that every inference request needs. */
  sourceOf(request: IncomingMessage): Source;
  /**
   * `http://host:port` as the client knows the hub, with the path under which a proxy serves it. Safe to print in a line for a
   * shell: letters, digits and `.-_:[]/~` only, unless `publicUrl` has others. Contract §7.
   */
  originOf(request: IncomingMessage): string;
}

const forwardingHeaders = [
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-prefix",
  "x-forwarded-proto",
  "x-real-ip",
];
/** A name, an IPv4 address or an IPv6 address in brackets, each with a port or without. */
const plainHost =
  /^(?=.{1,255}$)(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;
const plainPrefix = /^(?=.{1,255}$)(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+$/;

/**
 * Contract §3, "Peer address": the socket's, unless a trusted proxy says otherwise. A request with forwarding headers
 * from any other peer, or from a shared address, has no address: it proves nothing and is never near.
 *
 * @param publicUrl - the hub's URL, where it does not depend on the request
 * @throws TypeError when a trusted proxy is no address
 */
export function createPeerReader(options: PeerOptions, publicUrl: string | undefined): PeerReader {
  const trusted = blockListOf(options.trustedProxies);
  const shared = new Set(options.sharedAddresses);
  let hasWarned = false;

  function isTrusted(address: string): boolean {
    const version = isIP(address);
    return version !== 0 && trusted.check(address, version === 6 ? "ipv6" : "ipv4");
  }

  function addressOf(request: IncomingMessage, isForwarded: boolean): string | undefined {
    const direct = normaliseAddress(request.socket.remoteAddress ?? "");
    if (!isForwarded) return direct;
    if (isTrusted(direct)) return forwardedAddress(request, isTrusted);
    if (!hasWarned) options.onUntrustedProxy();
    hasWarned = true;
    return undefined;
  }

  function sourceOf(request: IncomingMessage): Source & { address: string | undefined } {
    const isForwarded = forwardingHeaders.some((name) => request.headers[name] !== undefined);
    const address = addressOf(request, isForwarded);
    const own = options.hasAddressRights && !shared.has(address ?? "") ? address : undefined;
    return {
      address: own,
      throttleKey: address === undefined ? "forwarded" : networkOf(address),
      ownAddress: isForwarded ? undefined : own,
    };
  }

  return {
    sourceOf,
    peerOf(request) {
      const { address, throttleKey, ownAddress } = sourceOf(request);
      return {
        address,
        throttleKey,
        nearAddress: ownAddress !== undefined && isNear(ownAddress) ? ownAddress : undefined,
        hasOrigin: request.headers.origin !== undefined,
        ...options.credentialsFrom(request.headers),
        isOperator: options.isOperator(request.headers),
        holder: undefined,
        hasLeft: () => request.socket.destroyed,
      };
    },
    originOf(request) {
      if (publicUrl !== undefined) return publicUrl;
      const isProxied = isTrusted(normaliseAddress(request.socket.remoteAddress ?? ""));
      const forwarded = (name: string) => (isProxied ? first(request.headers[name]) : undefined);
      const host = [forwarded("x-forwarded-host"), request.headers.host].find(
        (one) => one !== undefined && plainHost.test(one),
      );
      const used = isTls(request) ? "https" : "http";
      const protocol = (forwarded("x-forwarded-proto") ?? used) === "https" ? "https" : "http";
      const prefix = forwarded("x-forwarded-prefix")?.replace(/\/+$/, "") ?? "";
      return `${protocol}://${host ?? boundAddress(request)}${plainPrefix.test(prefix) ? prefix : ""}`;
    },
  };
}

/** Whether a request came over TLS, with no proxy in between. */
export function isTls({ socket }: IncomingMessage): boolean {
  return "encrypted" in socket && socket.encrypted === true;
}

/**
 * The last address in the chain that is not a trusted proxy's. Undefined when it cannot be read: the proxy's address,
 * which is often this machine's, must never count as a client's.
 */
function forwardedAddress(
  request: IncomingMessage,
  isTrusted: (address: string) => boolean,
): string | undefined {
  const header = request.headers["x-forwarded-for"];
  const chain = (Array.isArray(header) ? header.join(",") : (header ?? ""))
    .split(",")
    .map((entry) => normaliseAddress(withoutPort(entry.trim())));
  const address = chain.findLast((entry) => !isTrusted(entry)) ?? chain[0];
  return address !== undefined && isIP(address) !== 0 ? address : undefined;
}

const nearNetworks = blockListOf([
  ...["127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"],
  "fc00::/7",
]);

/** Loopback, private, CGNAT or ULA. */
export function isNear(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && nearNetworks.check(address, version === 6 ? "ipv6" : "ipv4");
}

/** Some proxies write `1.2.3.4:4711` and `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  return entry.replace(/^\[(.*)\](?::\d+)?$/, "$1").replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1");
}

/** `::1`, `127.0.0.1` and mapped forms are equal. Contract §3. */
export function normaliseAddress(address: string): string {
  if (!address.includes(":")) return address;
  const plain = address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "").replace(/%.*$/, "");
  return plain === "::1" ? "127.0.0.1" : plain;
}

/**
 * What counts as one client: an IPv4 address, or the /64 of an IPv6 one. A single machine has a whole /64, and with it more
 * addresses than there are passwords. Contract §6.
 */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  // An IPv4 address at the end stands for two groups.
  const [before = "", after] = address.replace(/[^:]*\.[^:]*$/, "0:0").split("::");
  const groups = before === "" ? [] : before.split(":");
  const behind = after === undefined || after === "" ? [] : after.split(":");
  const zeros = Array<string>(8 - groups.length - behind.length).fill("0");
  const network = [...groups, ...zeros, ...behind].slice(0, 4);
  return `${network.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}

/** The local address of the connection. */
function boundAddress({ socket }: IncomingMessage): string {
  const address = normaliseAddress(socket.localAddress ?? "127.0.0.1").replace(/%.*$/, "");
  return `${address.includes(":") ? `[${address}]` : address}:${socket.localPort ?? 0}`;
}

function first(header: string | string[] | undefined): string | undefined {
  const value = Array.isArray(header) ? header[0] : header;
  return value?.split(",")[0]?.trim();
}

/** @throws TypeError naming the entry that is no address or CIDR */
function blockListOf(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [written = "", prefix] = entry.trim().split("/");
    const address = normaliseAddress(written);
    const version = isIP(address);
    const bits = version === 6 ? 128 : 32;
    // `::1` is stored as 127.0.0.1, where a prefix of 128 means that one address.
    const length = prefix === undefined || address !== written ? bits : Number(prefix);
    if (version === 0 || !Number.isInteger(length) || length < 0 || length > bits) {
      throw new TypeError(`--trust-proxy: ${JSON.stringify(entry)} is not an address or CIDR`);
    }
    list.addSubnet(address, length, version === 6 ? "ipv6" : "ipv4");
  }
  return list;
}
