import type { HubIdentity } from "../../domain/hub-identity.ts";
import { OneByOne } from "../../one-by-one.ts";
import { type ClusterDirectory, DirectoryUnavailable } from "../directory.ts";
import { HomeReads } from "./home-reads.ts";
import {
  type Home,
  type HomeCommand,
  type HomeInput,
  NO_HOME,
  type Offer,
  type RoomHomeState,
  stepHome,
} from "./room-home.ts";

/** A directory that was lost while a home looks at its entry may be back in this time, and name another hub. */
const awayMs = 5_000;

/** What is done for a room when its home changes. Of one room never two at the same time. */
export interface HomeHooks {
  /**
   * Reads the registrations and puts them back, or takes the snapshot of the offer; the room is served once it
   * resolves. Called again after a DirectoryUnavailable, and with a higher epoch for a room that is already here.
   */
  onTaken: (code: string, home: Home, fromOffer: boolean) => Promise<void>;
  /** Another hub has a higher epoch: lets go of everything of the room. Also without an `onTaken` before. */
  onLost: (code: string, home: Home) => void | Promise<void>;
  /** This hub serves the room, again or for the first time: what was held for an offer that came to nothing goes on. */
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

/** The states of all rooms that have a home, and what their commands need: reads, writes, hooks, and trying again. */
export class HomeStates {
  readonly #options: HomeStatesOptions;
  readonly #states = new Map<string, RoomHomeState>();
  /** rooms that are not elsewhere */
  readonly #own = new Set<string>();
  /** those of them with something under way */
  readonly #unsettled = new Set<string>();
  readonly #reads: HomeReads;
  /** registrations that could not be read; whether the offer's snapshot is taken instead */
  readonly #unloaded = new Map<string, boolean>();
  /** hooks under way, each after the one before */
  readonly #hooks = new OneByOne();
  /** rooms with a refused write since the last {@link retry} */
  readonly #refused = new Set<string>();
  /** the epochs of the homes that this hub has handed rooms to */
  readonly #given = new Map<string, number>();
  /** called when a hand-over has ended */
  readonly #handOvers = new Map<string, () => void>();
  #awaySinceMs: number | undefined;
  #offers = 0;

  constructor(options: HomeStatesOptions) {
    this.#options = options;
    const { directory, nowMs, reportBug } = options;
    this.#reads = new HomeReads({
      readHome: (code) => directory.readHome(code),
      onRead: (code, stored) => {
        if (directory.isUp) this.#awaySinceMs = undefined;
        this.step(code, { kind: "stored", stored, isRead: true });
      },
      onFailed: () => void (this.#awaySinceMs ??= nowMs()),
      reportBug,
    });
  }

  of(code: string): RoomHomeState {
    return this.#states.get(code) ?? NO_HOME;
  }

  /** Rooms that are here, or about to be. */
  own(): string[] {
    return [...this.#own];
  }

  step(code: string, input: HomeInput): readonly HomeCommand[] {
    const { state, commands } = stepHome(this.of(code), input, this.#options.self);
    this.#keep(code, state);
    const isFailure = input.kind === "unanswered" || this.#refused.has(code);
    if (input.kind === "refused") this.#refused.add(code);
    for (const command of commands) this.#run(code, command, isFailure);
    this.#options.stepped(code);
    return commands;
  }

  /** This hub handed the room to that home, with all that it knew. */
  hasGiven(code: string, { epoch }: Home): boolean {
    return this.#given.get(code) === epoch;
  }

  /** A look at the directory is under way. */
  isReading(code: string): boolean {
    return this.#reads.isPending(code);
  }

  read(code: string): void {
    if (!this.#reads.isPending(code)) this.#reads.begin(code);
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
    // Of homes the watch has said what changed.
    for (const code of [...this.#unsettled]) this.step(code, { kind: "directoryUp" });
    this.#reads.retry();
  }

  /** This process did not run for a while. */
  suspended(): void {
    const givenUp = this.#reads.giveUp();
    for (const code of this.own()) this.step(code, { kind: "suspended" });
    for (const code of givenUp) this.read(code);
    this.#serveWhenAway();
  }

  /** Tries again what the directory did not do. */
  retry(): void {
    this.#refused.clear();
    if (this.#options.directory.isUp) {
      this.#reads.retry();
      for (const [code, fromOffer] of [...this.#unloaded]) this.#load(code, fromOffer);
    }
    this.#serveWhenAway();
  }

  forget(code: string): void {
    this.#keep(code, NO_HOME);
    this.#reads.forget(code);
  }

  /** Not at once: a process that wakes up finds its connection lost before it finds that another hub has its rooms. */
  #serveWhenAway(): void {
    if (this.#awaySinceMs === undefined) return;
    if (this.#options.nowMs() - this.#awaySinceMs < awayMs) return;
    for (const code of [...this.#unsettled]) this.step(code, { kind: "directoryDown" });
  }

  #keep(code: string, state: RoomHomeState): void {
    if (isNothing(state)) this.#states.delete(code);
    else this.#states.set(code, state);
    const isOwn = state.kind !== "elsewhere";
    mark(this.#own, code, isOwn);
    if (isOwn || isNothing(state)) this.#given.delete(code);
    mark(this.#unsettled, code, isOwn && (state.kind !== "home" || state.isRestoring));
    if (state.kind !== "loading") this.#unloaded.delete(code);
    if (state.kind === "offering" || state.kind === "giving") return;
    this.#handOvers.get(code)?.();
    this.#handOvers.delete(code);
  }

  #run(code: string, command: HomeCommand, isFailure: boolean): void {
    const { hooks } = this.#options;
    switch (command.kind) {
      case "read":
        // An entry that cannot be read is refused each time.
        if (isFailure) this.#reads.beginLater(code);
        else this.#reads.begin(code);
        return;
      case "write":
        void this.#write(code, command.home, command.expected);
        return;
      case "load":
        this.#load(code, command.fromOffer);
        return;
      case "offer":
        void this.#offer(code, command.to, command.offer);
        return;
      case "notify":
        this.#given.set(code, command.stored.home.epoch);
        hooks.tell(command.stored.home.hubId, code, command.stored.home.epoch);
        return;
      case "yield":
        this.#afterHooks(code, async () => hooks.onLost(code, command.to.home));
        return;
      case "serve":
        // What waits for a home goes on after each step.
        hooks.onServe(code);
        return;
      case "answerOffer": // by the caller of the step
        return;
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

  #load(code: string, fromOffer: boolean): void {
    const { hooks, reportBug } = this.#options;
    this.#unloaded.delete(code);
    const home = this.#loadedHome(code);
    if (home === undefined) return;
    const isLoading = () => this.#loadedHome(code)?.epoch === home.epoch;
    this.#afterHooks(code, async () => {
      if (!isLoading()) return;
      try {
        await hooks.onTaken(code, home, fromOffer);
      } catch (error) {
        if (error instanceof DirectoryUnavailable) {
          if (isLoading()) this.#unloaded.set(code, fromOffer);
          return;
        }
        // Without its registrations a room is of more use than not at all: their agents join again.
        reportBug(error);
      }
      if (isLoading()) this.step(code, { kind: "loaded" });
    });
  }

  #loadedHome(code: string): Home | undefined {
    const state = this.of(code);
    return state.kind === "loading" ? state.stored.home : undefined;
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

/** A room that is known nowhere takes no memory. */
function isNothing(state: RoomHomeState): boolean {
  if (state.kind !== "elsewhere") return false;
  return state.stored === undefined && state.offer === undefined && state.seen === 0;
}

function mark(set: Set<string>, code: string, isIn: boolean): void {
  if (isIn) set.add(code);
  else set.delete(code);
}
