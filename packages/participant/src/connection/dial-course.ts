import { Elsewhere, parseJson, type TunnelAddress } from "@roomhub/protocol";

/** An address that a dial goes to. */
export interface DialStop {
  /** with the hub's pin as its fragment, where it has one */
  url: URL;
  /** The hub there passes the tunnel on, since the agent could not reach where that hub sent it. */
  isPiped: boolean;
}

export interface DialCourseOptions {
  /** Dialled first, and again when an address that a hub named cannot be reached. */
  url: URL;
  /** The hub with the session to resume, dialled before `url`. */
  resumesAt: DialStop | undefined;
  /** The URL of a tunnel at another hub, as announced; undefined for an unknown place. */
  known: (announced: TunnelAddress) => URL | undefined;
  fence: HomeFence;
}

/** Where a 421 leads: to another address, or nowhere, as the end of a sentence about the hub. */
type Redirect = { kind: "stop"; stop: DialStop } | { kind: "behind"; reason: string };

/** A limit for hubs that each take another one for the home. */
const maxRedirects = 5;

/** Where one dial goes: to the address that it was given, to the hub that a 421 names, and back. */
export class DialCourse {
  readonly #options: DialCourseOptions;
  #stop: DialStop;
  #redirects = 0;

  constructor(options: DialCourseOptions) {
    this.#options = options;
    this.#stop = options.resumesAt ?? { url: options.url, isPiped: false };
  }

  get stop(): DialStop {
    return this.#stop;
  }

  /** Another address than the one that it was given. */
  get isElsewhere(): boolean {
    return this.#stop.url.href !== this.#options.url.href;
  }

  /** @returns undefined for a response that leads nowhere else */
  follow(status: number, body: string): Redirect | undefined {
    const elsewhere = status === 421 ? Elsewhere.safeParse(parseJson(body)).data : undefined;
    if (elsewhere === undefined) return undefined;
    const { known, fence } = this.#options;
    const behind = fence.refusalOf(elsewhere.homeEpoch);
    if (this.#stop.isPiped) return undefined;
    const url = known(elsewhere.tunnel);
    const redirects = this.#redirects;
    this.#redirects += 1;
    // A session stays at its hub, whichever is the home.
    const isSession = elsewhere.error?.code !== "home_elsewhere";
    if (behind !== undefined && !isSession) return { kind: "behind", reason: behind };
    const leadsOn = url !== undefined && url.href !== this.#stop.url.href;
    if (leadsOn && redirects < (isSession ? 1 : maxRedirects)) {
      return this.#go({ url, isPiped: false });
    }
    return fence.highest > 0 ? this.#go({ url: this.#options.url, isPiped: true }) : undefined;
  }

  /** An address leads to no tunnel. @returns where the hub is that can pass it on; undefined when it was that one */
  goBack(): DialStop | undefined {
    const { url, fence } = this.#options;
    if (!this.isElsewhere || fence.highest === 0) return undefined;
    this.#stop = { url, isPiped: true };
    return this.#stop;
  }

  #go(stop: DialStop): Redirect {
    this.#stop = stop;
    return { kind: "stop", stop };
  }
}

/**
 * A room has one home, and each new one has a higher epoch. This agent goes to no home with a lower epoch than it has seen: that
 * one may still serve though another has replaced it.
 */
export class HomeFence {
  #highest = 0;

  /** The highest epoch that it has seen; 0 where rooms have no homes. */
  get highest(): number {
    return this.#highest;
  }

  /**
   * Notes an epoch.
   *
   * @param epoch - that a hub names; undefined from one whose rooms have no homes
   * @returns why this agent does not go there, as the end of a sentence about the hub; undefined when it may
   */
  refusalOf(epoch: number | undefined): string | undefined {
    if (epoch === undefined) return undefined;
    if (epoch < this.#highest) {
      return `is behind: it names epoch ${epoch} of the room's home, which has reached ${this.#highest}`;
    }
    this.#highest = epoch;
    return undefined;
  }
}
