import type { Home, HubIdentity } from "../../domain/hub-identity.ts";

export type { Home };

/**
 * Where a room has its home, as one hub of a cluster sees it: a state chart without clocks, sockets or a directory.
 *
 * ```
 * elsewhere ─ wanted ──► taking ─ written ──► loading ─ loaded ──► verifying ─ read ──► home
 * home ─ suspended ──► verifying
 * home ─ release ──► offering ─ accepted ──► giving ─ written ──► elsewhere
 *                    offering ─ declined ──► home
 * any ─ the directory names another hub ──► elsewhere
 * elsewhere ─ the directory names this hub ──► loading
 * ```
 *
 * The entry in the directory decides: it changes by compare-and-set alone, each change raises the epoch, and so each epoch
 * has one home. A hub that was cut off or suspended may believe for a while that it still is the home; agents and hops
 * carry the highest epoch that they have seen, and a home with a lower one refuses them. For the same reason a home
 * confirms a registration only when the directory still names it after the registration is written.
 */
export type RoomHomeState =
  /**
   * Another hub is the home, or none. `offer`: this hub keeps a snapshot of that home until the directory names another.
   * `seen`: the highest epoch known of, which may be of an entry that the directory has lost.
   */
  | { kind: "elsewhere"; stored: StoredHome | undefined; offer: Offer | undefined; seen: number }
  /** A write that names this hub has no outcome yet. `offer`: as elsewhere, since the home may have named this hub first. */
  | { kind: "taking"; wanted: Home; over: StoredHome | undefined; offer: Offer | undefined }
  /** This hub is the home and reads the room's registrations. */
  | { kind: "loading"; stored: StoredHome }
  /** `isRestoring`: the directory lost the entry, and a write brings it back. */
  | { kind: "home"; stored: StoredHome; isRestoring: boolean }
  /** The registrations are read, or this process was suspended: the room may have another home since. */
  | { kind: "verifying"; stored: StoredHome; seen: number }
  /** The snapshot is on its way to the next home. Requests wait; the hand-over can still be given up. */
  | { kind: "offering"; stored: StoredHome; to: HubIdentity; offer: number }
  /** A write that names the next home has no outcome yet. */
  | { kind: "giving"; stored: StoredHome; to: HubIdentity };

/** A home as the directory holds it. */
export interface StoredHome {
  home: Home;
  /** of the entry: what a compare-and-set expects. It orders nothing, since a directory that lost its entries begins again. */
  revision: number;
}

/** A home hands a room over. The object that was offered is the one that is loaded. */
export interface Offer {
  from: Home;
  /** rises with each offer of the same hub process */
  number: number;
}

export type HomeInput =
  /** The room needs a home, and it is this hub's turn: none is known, or that one is dead. */
  | { kind: "wanted" }
  /** What the directory holds. Only the reply to the latest `read` is `isRead`; watches and other hubs may report late. */
  | { kind: "stored"; stored: StoredHome | undefined; isRead: boolean }
  /** Outcome of a write, perhaps of an earlier one. `unanswered`: it may have happened, or may still happen. */
  | { kind: "written"; stored: StoredHome }
  | { kind: "refused" }
  | { kind: "unanswered" }
  /** The registrations are read, or the snapshot is taken over. */
  | { kind: "loaded" }
  /** More than one beat passed in which this process did not run. */
  | { kind: "suspended" }
  /** The directory does not respond, or responds again. */
  | { kind: "directoryDown" }
  | { kind: "directoryUp" }
  /** This hub stops, or the room's requests enter at another hub. `offer`: {@link Offer.number}. */
  | { kind: "release"; to: HubIdentity; offer: number }
  /** The next home keeps the snapshot, or does not, or has not responded in time. */
  | { kind: "accepted"; offer: number }
  | { kind: "declined"; offer: number }
  /** Another home hands the room to this hub. */
  | { kind: "offered"; offer: Offer }
  /** A hop or an agent has seen this epoch. */
  | { kind: "newerEpoch"; epoch: number };

export type HomeCommand =
  | { kind: "read" }
  /** `expected`: revision of the entry that it replaces, 0 for none. */
  | { kind: "write"; home: Home; expected: number }
  /** Read the registrations; `offer`: take the snapshot that came with it instead. */
  | { kind: "load"; offer: Offer | undefined }
  | { kind: "offer"; to: HubIdentity; offer: number }
  /** Answer to an offer. */
  | { kind: "answerOffer"; isAccepted: boolean }
  /** Tell the next home what the directory holds. */
  | { kind: "notify"; stored: StoredHome }
  /** Serve what waits here. */
  | { kind: "serve" }
  /** Stop serving: send what waits to the home, and its agents after it. */
  | { kind: "yield"; to: StoredHome };

export interface HomeStep {
  state: RoomHomeState;
  commands: readonly HomeCommand[];
}

export const NO_HOME: RoomHomeState = {
  kind: "elsewhere",
  stored: undefined,
  offer: undefined,
  seen: 0,
};

/** The room goes to another hub, or is there: what has not begun begins there. */
export function isLeaving({ kind }: RoomHomeState): boolean {
  return kind !== "home" && kind !== "verifying";
}

/** What follows for this hub. Inputs that do not concern the state change nothing. */
export function stepHome(state: RoomHomeState, input: HomeInput, self: HubIdentity): HomeStep {
  switch (input.kind) {
    case "wanted":
      return state.kind === "elsewhere"
        ? take(state.stored, state.seen, self, state.offer)
        : stay(state);
    case "stored":
      return learn(state, input.stored, input.isRead, self);
    case "written":
      return written(state, input.stored);
    case "refused":
    case "unanswered":
      // It may be the outcome of an earlier write, so that a home looks whether it restores or not.
      return isWriting(state) || state.kind === "home"
        ? stay(state, { kind: "read" })
        : stay(state);
    case "loaded":
      // Another hub may have taken the room while this one read.
      return state.kind === "loading" ? verify(state, epochOf(state)) : stay(state);
    case "suspended":
      return resumed(state);
    case "directoryDown":
      // Homes keep serving without a directory: nothing can be taken over meanwhile.
      return state.kind === "verifying" ? serve(state.stored) : stay(state);
    case "directoryUp":
      return state.kind === "elsewhere" ? stay(state) : stay(state, { kind: "read" });
    case "release":
      return state.kind === "home" && !state.isRestoring
        ? offer(state.stored, input.to, input.offer)
        : stay(state);
    case "accepted":
      return isOffer(state, input.offer) ? give(state) : stay(state);
    case "declined":
      return isOffer(state, input.offer) ? serve(state.stored) : stay(state);
    case "offered":
      return considerOffer(state, input.offer);
    case "newerEpoch":
      return isNews(state, input.epoch) ? verify(state, input.epoch) : stay(state);
  }
}

/** The epoch of an offer is left out: it means that the room comes with its snapshot. */
function take(
  over: StoredHome | undefined,
  seen: number,
  self: HubIdentity,
  kept?: Offer,
): HomeStep {
  const offered = kept === undefined ? 0 : kept.from.epoch + 1;
  const wanted = { ...self, epoch: Math.max(over?.home.epoch ?? 0, seen, offered) + 1 };
  return {
    state: { kind: "taking", wanted, over, offer: kept },
    commands: [{ kind: "write", home: wanted, expected: over?.revision ?? 0 }],
  };
}

function offer(stored: StoredHome, to: HubIdentity, number: number): HomeStep {
  return stay(
    { kind: "offering", stored, to, offer: number },
    { kind: "offer", to, offer: number },
  );
}

function isOffer(
  state: RoomHomeState,
  number: number,
): state is RoomHomeState & { kind: "offering" } {
  return state.kind === "offering" && state.offer === number;
}

function give({ stored, to }: { stored: StoredHome; to: HubIdentity }): HomeStep {
  return { state: { kind: "giving", stored, to }, commands: [writeOfGift(stored, to)] };
}

function writeOfGift({ home, revision }: StoredHome, to: HubIdentity): HomeCommand {
  const next = { hubId: to.hubId, bootId: to.bootId, epoch: home.epoch + 1 };
  return { kind: "write", home: next, expected: revision };
}

function considerOffer(state: RoomHomeState, offer: Offer): HomeStep {
  const isAccepted = state.kind === "elsewhere" && !isNewer(state.offer, offer);
  const answer = { kind: "answerOffer", isAccepted } as const;
  return isAccepted ? stay({ ...state, offer }, answer) : stay(state, answer);
}

/** Offers may arrive after later ones of the same home. */
function isNewer(kept: Offer | undefined, offer: Offer): boolean {
  return kept !== undefined && isSame(kept.from, offer.from) && kept.number > offer.number;
}

/** A look that is under way for this epoch must not begin again with every request that has seen it: it would never end. */
function isNews(state: RoomHomeState, epoch: number): boolean {
  return epoch > (state.kind === "verifying" ? state.seen : epochOf(state));
}

function verify(state: RoomHomeState, seen: number): HomeStep {
  switch (state.kind) {
    case "loading":
    case "home":
    case "offering":
      return stay({ kind: "verifying", stored: state.stored, seen }, { kind: "read" });
    case "verifying":
    case "elsewhere":
      return stay({ ...state, seen: Math.max(state.seen, seen) }, { kind: "read" });
    case "taking":
    case "giving":
      return stay(state);
  }
}

/** Replies to reads from before do not count: they may be older than the suspension. */
function resumed(state: RoomHomeState): HomeStep {
  if (state.kind === "elsewhere" || state.kind === "loading") return stay(state);
  return isWriting(state) ? stay(state, { kind: "read" }) : verify(state, epochOf(state));
}

function written(state: RoomHomeState, stored: StoredHome): HomeStep {
  switch (state.kind) {
    case "taking":
      return isSameHome(stored.home, state.wanted) ? load(stored, undefined) : stay(state);
    case "giving":
      return isSame(stored.home, state.to) && stored.home.epoch > state.stored.home.epoch
        ? yieldTo(stored, true)
        : stay(state);
    case "home":
      return isSameHome(stored.home, state.stored.home)
        ? stay({ ...state, stored, isRestoring: false })
        : stay(state);
    default:
      return stay(state);
  }
}

/** A look at the directory. A watch may report an entry after a newer one was read; a read shows what was lost. */
function learn(
  state: RoomHomeState,
  stored: StoredHome | undefined,
  isRead: boolean,
  self: HubIdentity,
): HomeStep {
  if (!isRead && (stored?.home.epoch ?? 0) < entryOf(state)) {
    // Late, or the directory has lost what it had: a home looks which.
    return state.kind === "home" ? stay(state, { kind: "read" }) : stay(state);
  }
  switch (state.kind) {
    case "elsewhere":
      return follow(stored, state.offer, epochOf(state), self);
    case "taking":
      return learnWhileTaking(state, stored, isRead, self);
    case "giving":
      return learnWhileGiving(state, stored, isRead, self);
    default:
      return learnAsHome(state, stored, isRead, self);
  }
}

/** The entry as it is now, for a hub that has written nothing. */
function follow(
  stored: StoredHome | undefined,
  kept: Offer | undefined,
  seen: number,
  self: HubIdentity,
): HomeStep {
  if (stored !== undefined && isSame(stored.home, self)) return load(stored, kept);
  // The offer stands until the directory names another home than the one that made it.
  const isStanding = kept !== undefined && stored !== undefined && isSame(stored.home, kept.from);
  return stay({ kind: "elsewhere", stored, offer: isStanding ? kept : undefined, seen });
}

function learnWhileTaking(
  state: RoomHomeState & { kind: "taking" },
  stored: StoredHome | undefined,
  isRead: boolean,
  self: HubIdentity,
): HomeStep {
  const seen = state.wanted.epoch - 1;
  if (stored?.revision !== state.over?.revision) return follow(stored, state.offer, seen, self);
  // Not written yet, perhaps never: of two writes over one revision, one happens.
  return isRead ? take(state.over, seen, self, state.offer) : stay(state);
}

function learnWhileGiving(
  state: RoomHomeState & { kind: "giving" },
  stored: StoredHome | undefined,
  isRead: boolean,
  self: HubIdentity,
): HomeStep {
  const own = state.stored;
  if (stored === undefined || stored.home.epoch < own.home.epoch) return restore(own, stored);
  if (isSameHome(stored.home, own.home)) {
    return isRead ? give({ stored, to: state.to }) : stay(state);
  }
  if (isSame(stored.home, self)) return serve(stored);
  // A hub that took the room by itself did so without the snapshot.
  const isGift = isSame(stored.home, state.to) && stored.home.epoch === own.home.epoch + 1;
  return yieldTo(stored, isGift);
}

function learnAsHome(
  state: RoomHomeState & { kind: "loading" | "home" | "verifying" | "offering" },
  stored: StoredHome | undefined,
  isRead: boolean,
  self: HubIdentity,
): HomeStep {
  const own = state.stored;
  if (stored === undefined || stored.home.epoch < own.home.epoch) {
    // The directory was emptied, or goes back to an older copy: the higher epoch wins.
    return state.kind === "loading" ? stay(state) : restore(own, stored);
  }
  if (!isSameHome(stored.home, own.home)) return yieldTo(stored, false);
  if (!isRead) return stay(state);
  switch (state.kind) {
    case "verifying":
      // The directory lost an epoch that agents have seen: they go to no lower one.
      return state.seen > stored.home.epoch ? take(stored, state.seen, self) : serve(stored);
    case "home":
      return stay({ ...state, stored, isRestoring: false });
    default:
      return stay({ ...state, stored });
  }
}

function restore(own: StoredHome, found: StoredHome | undefined): HomeStep {
  return stay(
    { kind: "home", stored: own, isRestoring: true },
    { kind: "serve" },
    { kind: "write", home: own.home, expected: found?.revision ?? 0 },
  );
}

function load(stored: StoredHome, kept: Offer | undefined): HomeStep {
  const isGift = kept !== undefined && kept.from.epoch + 1 === stored.home.epoch;
  return stay({ kind: "loading", stored }, { kind: "load", offer: isGift ? kept : undefined });
}

function serve(stored: StoredHome): HomeStep {
  return stay({ kind: "home", stored, isRestoring: false }, { kind: "serve" });
}

function yieldTo(to: StoredHome, isNews: boolean): HomeStep {
  const seen = to.home.epoch;
  const state: RoomHomeState = { kind: "elsewhere", stored: to, offer: undefined, seen };
  const leave: HomeCommand = { kind: "yield", to };
  return isNews ? stay(state, { kind: "notify", stored: to }, leave) : stay(state, leave);
}

function stay(state: RoomHomeState, ...commands: HomeCommand[]): HomeStep {
  return { state, commands };
}

function isWriting({ kind }: RoomHomeState): boolean {
  return kind === "taking" || kind === "giving";
}

/** Epoch of the entry that this hub last knew of, 0 without one. */
export function entryOf(state: RoomHomeState): number {
  return (state.kind === "taking" ? state.over : state.stored)?.home.epoch ?? 0;
}

/** The highest epoch that this hub knows of, 0 without one. */
export function epochOf(state: RoomHomeState): number {
  switch (state.kind) {
    case "taking":
      return state.wanted.epoch;
    case "elsewhere":
      return Math.max(state.seen, state.stored?.home.epoch ?? 0);
    default:
      return state.stored.home.epoch;
  }
}

/** Whether both are the same run of the same hub. */
export function isSame(one: HubIdentity, other: HubIdentity): boolean {
  return one.hubId === other.hubId && one.bootId === other.bootId;
}

function isSameHome(one: Home, other: Home): boolean {
  return isSame(one, other) && one.epoch === other.epoch;
}
