import { InvalidHubUrlError, normaliseHubUrl, pinIn } from "@roomhub/client";
import {
  isLoopbackHost,
  pinText,
  type TunnelAddress,
  withPin,
  type World,
} from "@roomhub/protocol";

const maxHubs = 16;

/**
 * The hubs of a cluster, named by the response to a join, in the order in which they are tried when the hub that was joined
 * is lost, each with its pin, where it has one. Contract §8.
 */
export class KnownHubs {
  readonly #givenUrl: string;
  readonly #world: Pick<World, "random">;
  #urls: readonly string[] = [];
  #tried = 0;

  /** @param givenUrl - the one that the user names, which may stand for all of them */
  constructor(givenUrl: string, world: Pick<World, "random">) {
    this.#givenUrl = givenUrl;
    this.#world = world;
  }

  /** Whether there is any but the one that was joined. */
  get hasOthers(): boolean {
    return this.#urls.length > 1;
  }

  /**
   * @param joinedUrl - where the join was sent
   * @param hubs - of its response: the hub that took it first, the others after it
   */
  learn(joinedUrl: string, hubs: readonly string[]): void {
    const [taken, ...others] = readable(hubs).slice(0, maxHubs);
    // When a hub is lost, its participants try the others in different orders.
    const first = Math.floor(this.#world.random() * others.length);
    const tried = [...others.slice(first), ...others.slice(0, first), this.#givenUrl, taken];
    const urls = tried.filter((url) => url !== undefined && !isWeaker(url, joinedUrl));
    this.#urls = [...new Set(urls as string[])];
    this.#tried = 0;
  }

  /**
   * Where another hub of the cluster takes this participant's tunnel, as a hub announced it.
   *
   * @returns undefined when that is not one of these hubs: the token does not go there
   */
  tunnelUrl(announced: TunnelAddress): URL | undefined {
    if (!URL.canParse(announced.url)) return undefined;
    for (const hub of this.#urls) {
      try {
        const url = resolveTunnelUrl(hub, announced);
        if (isBelow(url, hub)) return url;
      } catch {
        return undefined; // no WebSocket URL
      }
    }
    return undefined;
  }

  /** The next one to try; all of them in turn, the lost one last. */
  next(): string {
    const url = this.#urls[this.#tried % this.#urls.length];
    this.#tried += 1;
    return url ?? this.#givenUrl;
  }
}

function readable(hubs: readonly string[]): string[] {
  return hubs.flatMap((url) => {
    if (!/^https?:\/\//.test(url)) return [];
    try {
      return [withPin(normaliseHubUrl(url), pinIn(url))];
    } catch (error) {
      if (error instanceof InvalidHubUrlError) return [];
      throw error;
    }
  });
}

/** `ws:` belongs to `http:`, and `wss:` to `https:`. */
function isBelow(tunnel: URL, hubUrl: string): boolean {
  const hasUser = tunnel.username !== "" || tunnel.password !== "";
  const base = hubUrl.replace(/#.*$/, "");
  return !hasUser && tunnel.href.replace(/^ws/, "http").startsWith(`${base}/`);
}

/** The participant's token and the room's password go there, which must not be sent in the clear. */
function isWeaker(url: string, than: string): boolean {
  return than.startsWith("https:") && !url.startsWith("https:");
}

/** Where a hub takes this participant's tunnel, by the hub's URL. `docs/reference/tunnel.md`, "Handshake". */
export function tunnelUrlAt(hubUrl: string, room: string, id: string): URL {
  const url = new URL(hubUrl.replace(/^http/, "ws"));
  const path = `/v1/rooms/${room}/participants/${encodeURIComponent(id)}/tunnel`;
  url.pathname = url.pathname.replace(/\/$/, "") + path;
  return url;
}

/**
 * Where the tunnel goes after a join: where the hub says, and to the hub's loopback address where that took the join, since
 * the hub's URL for others may lead nowhere from its own machine.
 *
 * @throws Error when the hub's text is not a WebSocket URL
 */
export function tunnelUrlOf(
  hubUrl: string,
  announced: TunnelAddress,
  room: string,
  id: string,
): URL {
  const url = resolveTunnelUrl(hubUrl, announced);
  const isLocal = isLoopbackHost(new URL(hubUrl).hostname) && !isLoopbackHost(url.hostname);
  return isLocal ? tunnelUrlAt(hubUrl, room, id) : url;
}

/**
 * The tunnel URL as a hub announced it, with its pin as its fragment. A hub behind a TLS proxy may announce ws: instead of
 * wss:; the token must not be sent in the clear, so the scheme and port of the hub URL are used.
 *
 * @param hubUrl - of the hub that takes the tunnel, or announced it
 * @throws Error when the hub's text is not a WebSocket URL
 */
export function resolveTunnelUrl(hubUrl: string, { url: announced, pin }: TunnelAddress): URL {
  const hub = new URL(hubUrl);
  const base = new URL(hubUrl);
  base.protocol = hub.protocol === "https:" ? "wss:" : "ws:";
  const url = new URL(announced, base);
  if (url.protocol !== "ws:" && url.protocol !== "wss:") {
    throw new Error(`the hub announced an invalid tunnel URL: ${announced.slice(0, 200)}`);
  }
  if (hub.protocol === "https:" && url.protocol === "ws:" && url.hostname === hub.hostname) {
    url.protocol = "wss:";
    url.port = hub.port;
  }
  const known = url.host === hub.host ? pinText(hubUrl) : undefined;
  return new URL(withPin(url.href.replace(/#.*$/, ""), known ?? pin));
}
