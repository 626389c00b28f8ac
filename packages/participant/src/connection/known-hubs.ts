import { InvalidHubUrlError, normaliseHubUrl } from "@roomhub/client";
import { resolveTunnelUrl } from "./tunnel-url.ts";

const maxHubs = 16;

/**
 * The hubs of a cluster as their responses to joins name them, in the order in which they are tried when the one that was
 * joined is lost. Contract §8.
 */
export class KnownHubs {
  readonly #homeUrl: string;
  readonly #random: () => number;
  #urls: readonly string[] = [];
  #tried = 0;

  /**
   * @param homeUrl - the one that the user names, which may stand for all of them
   * @param random - in `[0, 1)`
   */
  constructor(homeUrl: string, random: () => number) {
    this.#homeUrl = homeUrl;
    this.#random = random;
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
    // Those of a hub that is lost go to the others in different orders.
    const first = Math.floor(this.#random() * others.length);
    const tried = [...others.slice(first), ...others.slice(0, first), this.#homeUrl, taken];
    const urls = tried.filter((url) => url !== undefined && !isWeaker(url, joinedUrl));
    this.#urls = [...new Set(urls as string[])];
    this.#tried = 0;
  }

  /**
   * Where a tunnel goes that another hub has, by its announced URL.
   *
   * @returns undefined when that is not one of these hubs: the token does not go there
   */
  tunnelUrl(announced: string): URL | undefined {
    if (!URL.canParse(announced)) return undefined;
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
    return url ?? this.#homeUrl;
  }
}

function readable(hubs: readonly string[]): string[] {
  return hubs.flatMap((url) => {
    if (!/^https?:\/\//.test(url)) return [];
    try {
      return [normaliseHubUrl(url)];
    } catch (error) {
      if (error instanceof InvalidHubUrlError) return [];
      throw error;
    }
  });
}

/** `ws:` belongs to `http:`, and `wss:` to `https:`. */
function isBelow(tunnel: URL, hubUrl: string): boolean {
  const hasUser = tunnel.username !== "" || tunnel.password !== "";
  return !hasUser && tunnel.href.replace(/^ws/, "http").startsWith(`${hubUrl}/`);
}

/** The participant's token and the room's password go there, which must not be sent in the clear. */
function isWeaker(url: string, than: string): boolean {
  return than.startsWith("https:") && !url.startsWith("https:");
}
