import type { HubEntry, World } from "@roomhub/protocol";
import type { HubIdentity } from "../../domain/hub-identity.ts";
import type { Log } from "../../log.ts";
import { withinMs } from "../../within.ts";
import type { ClusterDirectory } from "../directory.ts";
import type { HubPresence, HubUrls } from "./hub-presence.ts";
import { Hubs, SILENCE_MS } from "./hubs.ts";

/** What this hub says of itself that changes. */
type OwnFacts = Pick<HubPresence, "version" | "participants" | "isDraining">;

export interface RollCallOptions {
  self: HubIdentity;
  /** epoch ms */
  startedAt: number;
  directory: Pick<ClusterDirectory, "announce" | "warning">;
  facts: () => OwnFacts;
  links: {
    isOpen(hubId: string): boolean;
    /** why it is not open */
    problemOf(hubId: string): string | undefined;
    hubPresent(presence: HubPresence): void;
    /** in order: what runs at it may finish */
    hubLeft(hubId: string): void;
  };
  /** It is dead: what was sent there is over. */
  hubGone: (hub: HubIdentity) => void;
  log: Pick<Log, "warn">;
  world: World;
}

/** A process that runs under the id of a hub that starts says so at once. */
const answerMs = 1_000;
/** While another hub has this one's id, that is repeated this often. */
const repeatMs = 10 * 60_000;

/** Another process runs under the id of this hub, which therefore does not start. */
class HubIdTaken extends Error {
  override readonly name = "HubIdTaken";

  constructor(own: HubUrls, other: HubPresence) {
    const since = new Date(other.startedAt).toISOString();
    super(
      `A hub running since ${since} has the id of this one: it is reached at ${placesOf(other)}, this one at ${placesOf(own)}.`,
    );
  }
}

function placesOf({ advertiseUrl, linkUrl }: HubUrls): string {
  return linkUrl === advertiseUrl ? advertiseUrl : `${advertiseUrl} (by other hubs at ${linkUrl})`;
}

/** Which hubs there are: what this one says of itself, what the others say, and which of them are dead. */
export class RollCall {
  readonly hubs: Hubs;
  readonly #options: RollCallOptions;
  #urls: HubUrls = { advertiseUrl: "", linkUrl: "" };
  #stage: "silent" | "starting" | "announced" = "silent";
  #beat = 0;
  /** under this hub's id, by another process: it runs, or was killed */
  #before: HubPresence | undefined;
  #onAnswer: (presence: HubPresence) => void = () => {};
  #answers: string | undefined;
  /** when another hub under this one's id was heard of, and when that was said: both started at the same moment, or could not hear each other */
  #namesakeMs = Number.NEGATIVE_INFINITY;
  #warnedMs = Number.NEGATIVE_INFINITY;

  constructor(options: RollCallOptions) {
    this.#options = options;
    this.hubs = new Hubs(options.self);
  }

  /** undefined before {@link announce} */
  get ownUrl(): string | undefined {
    return this.#urls.advertiseUrl || undefined;
  }

  /**
   * Makes sure that no other process runs under this hub's id, once all entries were reported. One that was killed does
   * not answer, and one that is stopping does not count: a hub that restarts goes on.
   *
   * @throws HubIdTaken
   */
  async claimId(urls: HubUrls): Promise<void> {
    if (this.#before === undefined || this.#before.isDraining) return;
    let taken: HubPresence | undefined;
    const answered = new Promise<void>((resolve) => {
      this.#onAnswer = (presence) => {
        taken = presence;
        resolve();
      };
    });
    this.#say("starting", urls);
    await withinMs(this.#options.world, answered, answerMs);
    if (taken !== undefined) throw new HubIdTaken(urls, taken);
  }

  /** From now on the others know this hub. */
  announce(urls: HubUrls): void {
    this.#say("announced", urls);
  }

  /** What has changed cannot wait for the next beat. */
  announceNow(): void {
    if (this.#stage === "announced") this.#say("announced");
  }

  /** A beat of another process, or with undefined the end of a hub. */
  seen(hubId: string, presence: HubPresence | undefined): void {
    const { links, world, self } = this.#options;
    if (presence === undefined) {
      this.hubs.left(hubId);
      links.hubLeft(hubId);
    } else if (hubId === self.hubId) {
      this.#namesakeSeen(presence);
    } else if (!presence.isStarting) {
      this.hubs.seen(presence, world.monotonicMs());
      links.hubPresent(presence);
    }
  }

  /** Closes the links to hubs that are silent. @param directoryUpSinceMs - undefined: none can be judged */
  judge(directoryUpSinceMs: number | undefined): void {
    const { links, world, hubGone } = this.#options;
    const isLinkOpen = (hubId: string) => links.isOpen(hubId);
    const sight = { nowMs: world.monotonicMs(), directoryUpSinceMs, isLinkOpen };
    for (const hub of this.hubs.judge(sight)) hubGone(hub);
  }

  /** Whether a hub may be dead, as another hub says: it has missed a beat, and no link to it responds. */
  isQuiet(hub: HubIdentity): boolean {
    const { links, world } = this.#options;
    return this.hubs.hasMissedBeat(hub, world.monotonicMs()) && !links.isOpen(hub.hubId);
  }

  isDead(hub: HubIdentity): boolean {
    return this.hubs.isDead(hub, this.#options.world.monotonicMs());
  }

  /** As they are listed: this hub first, the others by id. */
  list(): HubEntry[] {
    const { self, facts, links, world, directory } = this.#options;
    const own = { ...self, url: this.#urls.advertiseUrl, ...facts(), link: "self" as const };
    const { warning } = directory;
    const others = this.hubs.list().map((presence): HubEntry => {
      const { hubId, bootId, advertiseUrl, version, participants, isDraining } = presence;
      const isOpen = links.isOpen(hubId);
      return {
        ...{ hubId, bootId, url: advertiseUrl, version, participants, isDraining },
        link: isOpen ? "open" : "down",
        problem: isOpen ? undefined : links.problemOf(hubId),
      };
    });
    const hasNamesake = world.monotonicMs() - this.#namesakeMs <= SILENCE_MS;
    const problem = hasNamesake
      ? "another hub has the same id: give each an --advertise URL of its own"
      : undefined;
    return [{ ...own, problem, warning }, ...others];
  }

  /** Where the hubs of the cluster take participants, this one first. At most 16. */
  advertisedUrls(): string[] {
    const welcoming = this.hubs.list().filter(({ isDraining }) => !isDraining);
    const urls = [this.#urls, ...welcoming].map(({ advertiseUrl }) => advertiseUrl);
    return [...new Set(urls.filter((url) => url !== ""))].slice(0, 16);
  }

  #namesakeSeen(presence: HubPresence): void {
    const { self, world, facts } = this.#options;
    const { bootId, isStarting, isDraining, answers } = presence;
    if (this.#stage === "silent") {
      this.#before = presence;
    } else if (this.#stage === "starting") {
      if (answers === self.bootId && !isDraining) this.#onAnswer(presence);
    } else if (isStarting) {
      this.#answers = bootId;
      this.announceNow();
    } else if (!isDraining && !facts().isDraining) {
      this.#namesakeMs = world.monotonicMs();
      this.#warnOfNamesake(presence);
    }
  }

  /** Without the warning requests would get to the wrong one of the two, now and then, for no visible reason. */
  #warnOfNamesake({ hubId, linkUrl: url, startedAt }: HubPresence): void {
    if (this.#namesakeMs - this.#warnedMs < repeatMs) return;
    this.#warnedMs = this.#namesakeMs;
    this.#options.log.warn(
      "another hub has the id of this one, because both are reached at the same URL: requests and participants " +
        "get to the wrong one of them. Stop one, or give each an --advertise URL of its own",
      { hubId, url, otherStartedAt: new Date(startedAt).toISOString() },
    );
  }

  #say(stage: "starting" | "announced", urls = this.#urls): void {
    const { self, startedAt, directory, facts } = this.#options;
    this.#stage = stage;
    this.#urls = urls;
    directory.announce(() => ({
      ...{ ...self, ...this.#urls, startedAt, ...facts() },
      ...{ beat: ++this.#beat, isStarting: this.#stage === "starting", answers: this.#answers },
    }));
  }
}
