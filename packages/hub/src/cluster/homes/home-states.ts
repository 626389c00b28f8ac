import type { HubIdentity } from "../../domain/hub-identity.ts";
import { OneByOne } from "../../one-by-one.ts";
import { type ClusterDirectory, DirectoryUnavailable } from "../directory.ts";
import {
  advance,
  type HomeEffect,
  type HomeEvent,
  type HomeRecord,
  isLoading,
  isNothing,
  isUnderWay,
  mayConfirm,
  NO_RECORD,
} from "./home-record.ts";
import type { Home, Offer, RoomHomeState } from "./room-home.ts";

/** A directory that was lost while a home looks at its entry may be back in this time, and name another hub. */
const awayMs = 5_000;

/** What is done for a room when its home changes. Of one room never two at the same time. */
export interface HomeHooks {
  /**
   * Reads the registrations and puts them back, or takes the snapshot of the offer; the room is served once it
   * resolves. Called again after a DirectoryUnavailable, and with a higher epoch for a room that is already here.
   */
  onTaken: (code: string, home: Home, offer: Offer | undefined) => Promise<void>;
  /** Another hub has a higher epoch: lets go of everything of the room. Also without an `onTaken` before. */
  onLost: (code: string, home: Home) => void | Promise<void>;
  /** This hub serves the room, again or for the first time: requests held for an offer that failed continue. */
  onServe: (code: string) => void;
  /** Sends the snapshot to the next home. @returns whether that one keeps it. Ends in bounded time. */
  offer: (code: string, to: HubIdentity, offer: Offer) => Promise<boolean>;
  /** Tells that hub the epoch of a room: it calls `RoomHomes.sawEpoch`. */
  tell: (hubId: string, code: string, epoch: number) => void;
}

export interface HomeStatesOptions {
  self: HubIdentity;
  directory: Pick<ClusterDirectory, "isUp" | "putHome" | "readHome">;
  hooks: HomeHooks;
  /** The room has taken a step. */
  stepped: (code: string) => void;
  /** ms, monotonic */
  nowMs: () => number;
  reportBug: (error: unknown) => void;
}

/** The records of all rooms that have a home, and what their effects need: reads, writes, hooks, and trying again. */
export class HomeStates {
  readonly #options: HomeStatesOptions;
  readonly #records = new Map<string, HomeRecord>();
  /** rooms that are not elsewhere */
  readonly #own = new Set<string>();
  /** rooms with something under way */
  readonly #busy = new Set<string>();
  /** hooks under way, each after the one before */
  readonly #hooks = new OneByOne();
  /** called when a hand-over has ended */
  readonly #handOvers = new Map<string, () => void>();
  #awaySinceMs: number | undefined;
  #events = 0;
  #offers = 0;

  constructor(options: HomeStatesOptions) {
    this.#options = options;
  }

  of(code: string): RoomHomeState {
    return this.#record(code).state;
  }

  /** Rooms that are here, or about to be. */
  own(): string[] {
    return [...this.#own];
  }

  step(code: string, event: HomeEvent): readonly HomeEffect[] {
    const effects = this.#advance(code, event);
    this.#options.stepped(code);
    return effects;
  }

  /** As the pure `mayConfirm`. */
  mayConfirm(code: string, home: Home, since: number | undefined): boolean {
    return mayConfirm(this.#record(code), home, this.#options.self, since);
  }

  /** A look at the directory is under way. */
  isReading(code: string): boolean {
    return this.#record(code).read !== undefined;
  }

  read(code: string): void {
    this.#advance(code, { kind: "look" });
  }

  /** Resolves when that hub is the home, or the hand-over was given up. */
  handOver(code: string, to: HubIdentity): Promise<void> {
    const state = this.of(code);
    if (state.kind !== "home" || !this.#options.directory.isUp) return Promise.resolve();
    const ended = new Promise<void>((resolve) => this.#handOvers.set(code, resolve));
    this.step(code, { kind: "release", to, offer: (this.#offers += 1) });
    return ended;
  }

  directoryChanged(isUp: boolean): void {
    if (!isUp) {
      this.#awaySinceMs ??= this.#options.nowMs();
      for (const end of this.#handOvers.values()) end();
      this.#handOvers.clear();
      return;
    }
    this.#awaySinceMs = undefined;
    for (const code of [...this.#busy]) this.step(code, { kind: "directoryUp" });
  }

  /** This process did not run for a while. */
  suspended(): void {
    for (const code of new Set([...this.#own, ...this.#busy]))
      this.step(code, { kind: "suspended" });
    this.#serveWhenAway();
  }

  /** Tries again what the directory did not do. */
  retry(): void {
    const { isUp } = this.#options.directory;
    for (const code of [...this.#busy]) this.#advance(code, { kind: "retry", isUp });
    this.#serveWhenAway();
  }

  forget(code: string): void {
    this.#keep(code, NO_RECORD);
  }

  /** Not at once: a process that wakes up finds its connection lost before it finds that another hub has its rooms. */
  #serveWhenAway(): void {
    if (this.#awaySinceMs === undefined) return;
    if (this.#options.nowMs() - this.#awaySinceMs < awayMs) return;
    for (const code of [...this.#busy]) this.step(code, { kind: "directoryDown" });
  }

  #record(code: string): HomeRecord {
    return this.#records.get(code) ?? NO_RECORD;
  }

  #advance(code: string, event: HomeEvent): readonly HomeEffect[] {
    const number = (this.#events += 1);
    const { record, effects } = advance(this.#record(code), event, this.#options.self, number);
    this.#keep(code, record);
    for (const effect of effects) this.#run(code, effect);
    return effects;
  }

  #keep(code: string, record: HomeRecord): void {
    const { kind } = record.state;
    if (isNothing(record)) this.#records.delete(code);
    else this.#records.set(code, record);
    mark(this.#own, code, kind !== "elsewhere");
    mark(this.#busy, code, isUnderWay(record));
    if (kind === "offering" || kind === "giving") return;
    this.#handOvers.get(code)?.();
    this.#handOvers.delete(code);
  }

  #run(code: string, effect: HomeEffect): void {
    const { hooks } = this.#options;
    switch (effect.kind) {
      case "read":
        void this.#read(code, effect.number);
        return;
      case "write":
        void this.#write(code, effect.home, effect.expected);
        return;
      case "load":
        this.#load(code, effect.offer);
        return;
      case "offer":
        void this.#offer(code, effect.to, effect.offer);
        return;
      case "notify":
        hooks.tell(effect.stored.home.hubId, code, effect.stored.home.epoch);
        return;
      case "yield":
        this.#afterHooks(code, async () => hooks.onLost(code, effect.to.home));
        return;
      case "serve":
        // Requests that wait for a home continue after each step.
        hooks.onServe(code);
        return;
      case "answerOffer": // by the caller of the step
        return;
    }
  }

  async #read(code: string, read: number): Promise<void> {
    const { directory, nowMs, reportBug } = this.#options;
    try {
      const stored = await directory.readHome(code);
      if (this.#record(code).read?.number !== read) return;
      if (directory.isUp) this.#awaySinceMs = undefined;
      this.step(code, { kind: "replied", read, stored });
    } catch (error) {
      if (!(error instanceof DirectoryUnavailable)) reportBug(error);
      this.#advance(code, { kind: "unread", read });
      this.#awaySinceMs ??= nowMs();
    }
  }

  async #write(code: string, home: Home, expected: number): Promise<void> {
    const { directory, reportBug } = this.#options;
    try {
      const revision = await directory.putHome(code, home, expected);
      if (revision === undefined) this.step(code, { kind: "refused" });
      else this.step(code, { kind: "written", stored: { home, revision } });
    } catch (error) {
      if (!(error instanceof DirectoryUnavailable)) reportBug(error);
      this.step(code, { kind: "unanswered" });
    }
  }

  #load(code: string, offer: Offer | undefined): void {
    const { hooks, reportBug } = this.#options;
    const state = this.of(code);
    if (state.kind !== "loading") return;
    const { home } = state.stored;
    const { epoch } = home;
    this.#afterHooks(code, async () => {
      if (!isLoading(this.#record(code), epoch)) return;
      try {
        await hooks.onTaken(code, home, offer);
      } catch (error) {
        if (error instanceof DirectoryUnavailable)
          return void this.#advance(code, { kind: "untaken", epoch, offer });
        // Without its registrations a room is of more use than not at all: their agents join again.
        reportBug(error);
      }
      this.step(code, { kind: "taken", epoch });
    });
  }

  async #offer(code: string, to: HubIdentity, number: number): Promise<void> {
    const { hooks, reportBug } = this.#options;
    const state = this.of(code);
    if (state.kind !== "offering") return;
    let isAccepted = false;
    try {
      isAccepted = await hooks.offer(code, to, { from: state.stored.home, number });
    } catch (error) {
      reportBug(error);
    }
    this.step(code, { kind: isAccepted ? "accepted" : "declined", offer: number });
  }

  #afterHooks(code: string, work: () => Promise<void>): void {
    this.#hooks.run(code, work).catch(this.#options.reportBug);
  }
}

function mark(set: Set<string>, code: string, isIn: boolean): void {
  if (isIn) set.add(code);
  else set.delete(code);
}
