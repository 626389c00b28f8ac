import type { HubIdentity, Place } from "../../domain/hub-identity.ts";
import { HubError } from "../../errors.ts";
import {
  type ClusterDirectory,
  clusterAway,
  DirectoryUnavailable,
  PRESENCE_INTERVAL_MS,
} from "../directory.ts";
import type { RollCall } from "../hubs/roll-call.ts";
import { EnteredRequests } from "./entered-requests.ts";
import { type HomeHooks, HomeStates, type HomeStatesOptions } from "./home-states.ts";
import {
  epochOf,
  type Home,
  isLeaving,
  isSame,
  type Offer,
  type RoomHomeState,
} from "./room-home.ts";
import { rankHubs, Takeover } from "./takeover.ts";
import { unavailable, Waiting } from "./waiting.ts";

/** A request waits this long for a home. */
const waitMs = 15_000;
/** A hub that another one asked to take a room waits this long to see by itself that the home is dead. */
const askedMs = 2_000;
/** A hub that answered that it is not the home is tried again after it. */
const missedMs = 250;
/** A hub that stops hands over so many rooms at the same time. */
const maxHandOvers = 16;
/** Higher ones are not believed: epochs rise by one. */
const maxEpoch = 2 ** 40;

export interface RoomHomesOptions extends Pick<
  HomeStatesOptions,
  "self" | "nowMs" | "reportBug" | "hooks"
> {
  directory: Pick<ClusterDirectory, "isUp" | "putHome" | "readHome" | "deleteHome">;
  roll: RollCall;
  /** Whether there is a room with this code. */
  exists: (code: string) => boolean;
  /** Something is registered or connected in the room: it is handed over when this hub stops. */
  isInUse: (code: string) => boolean;
  /** Another hub can serve it as well: it may go to where its requests enter. */
  mayMove: (code: string) => boolean;
  /** ms on two clocks that this hub's clock does not correct: either may stand still in a suspended computer */
  time: { monotonicMs: () => number; wallMs: () => number };
}

const wait: Place = { kind: "wait" };

/**
 * The homes of all rooms, as this hub knows them: one state of `room-home.ts` each. There are no timers: {@link tick}
 * comes four times a second. A room is taken over when something waits for it, so that a dead hub's rooms at rest cost
 * nothing.
 */
export class RoomHomes {
  readonly #options: RoomHomesOptions;
  readonly #states: HomeStates;
  readonly #waiting = new Waiting<Place>();
  readonly #entered: EnteredRequests;
  readonly #takeovers = new Map<string, Takeover>();
  /** rooms that another hub asked this one to take from the home of that epoch */
  readonly #asked = new Map<string, { overEpoch: number; untilMs: number }>();
  /** homes that answered that they are not */
  readonly #missed = new Map<string, { epoch: number; untilMs: number }>();
  #aliveMs: { monotonic: number; wall: number };
  #isStopping = false;
  /** rooms of a hub that stops, which no other hub takes */
  readonly #kept = new Set<string>();

  constructor(options: RoomHomesOptions) {
    this.#options = options;
    const { self, time } = options;
    this.#entered = new EnteredRequests(self.hubId);
    this.#aliveMs = { monotonic: time.monotonicMs(), wall: time.wallMs() };
    this.#states = new HomeStates({
      ...options,
      hooks: { ...options.hooks, onTaken: this.#taken },
      stepped: (code) => this.#settle(code),
    });
  }

  /**
   * Where a request for an existing room goes now. The first one for a room without a home makes this hub take it, so
   * that it waits.
   */
  placeOf(code: string): Place {
    this.#noticeSuspension();
    const place = this.#look(code);
    if (place.kind === "wait") this.#takeNew(code, this.#states.of(code));
    if (place.kind !== "here" || !this.#isStopping || this.#kept.has(code)) return place;
    // What a hub that stops would begin now, the next home begins.
    void this.#give(code);
    return this.#look(code);
  }

  /** Which home of the room this hub is; undefined when it is none. */
  epochHere(code: string): number | undefined {
    const state = this.#states.of(code);
    return "stored" in state && state.kind !== "elsewhere" ? state.stored.home.epoch : undefined;
  }

  /** The room goes from here to another hub, or has gone: what has not begun begins there. */
  isLeaving(code: string): boolean {
    return isLeaving(this.#states.of(code));
  }

  /**
   * Resolves when the room's home is known: never with `wait`.
   *
   * @throws HubError `peer_unavailable` after 15 s, or at once when nothing can be taken over now; `cluster_unavailable`
   *   for a room without a home while the directory is away
   */
  async placed(code: string): Promise<Place> {
    const place = this.placeOf(code);
    if (place.kind !== "wait") return place;
    const placed = this.#waiting.wait(code, this.#options.nowMs() + waitMs);
    this.#settle(code);
    return placed;
  }

  /**
   * Resolves when the directory still names this hub, or the one that it handed the room to: asked after a registration was
   * written and before it is confirmed, since a hub that took the room over may have read without it.
   *
   * @param since - {@link epochHere} when it came
   * @throws HubError `peer_unavailable` when it names another one
   * @throws DirectoryUnavailable also when it has lost the entry, which is written again
   */
  async confirm(code: string, since: number | undefined): Promise<void> {
    const stored = await this.#options.directory.readHome(code);
    this.#states.step(code, { kind: "stored", stored, isRead: false });
    if (stored === undefined) throw new DirectoryUnavailable(`the home of room ${code} was lost`);
    if (!this.#states.mayConfirm(code, stored.home, since)) throw unavailable(code);
  }

  /** What the directory reports. */
  homeChanged(code: string, home: Home | undefined, revision: number): void {
    const { self, exists, roll } = this.#options;
    // The silence of a hub that was never heard of begins now, not when a request comes.
    if (home !== undefined) roll.isDead(home);
    if (!exists(code)) {
      // Another hub's may be reported before its room is.
      if (home === undefined) return this.#forget(code);
      if (isSame(home, self)) return this.#delete(code, revision);
    }
    const stored = home === undefined ? undefined : { home, revision };
    this.#states.step(code, { kind: "stored", stored, isRead: false });
  }

  /** The directory is away, or is back and has reported what changed. */
  directoryChanged(isUp: boolean): void {
    this.#states.directoryChanged(isUp);
    this.#settleAll();
  }

  /**
   * A hop, an agent or a hub has seen this epoch of a room.
   *
   * @returns whether it is news: a home with a lower one looks at the directory before it serves anything more
   */
  sawEpoch(code: string, epoch: number): boolean {
    const isNews = Number.isSafeInteger(epoch) && epoch <= maxEpoch;
    if (!isNews || epoch <= epochOf(this.#states.of(code))) return false;
    this.#states.step(code, { kind: "newerEpoch", epoch });
    return true;
  }

  /**
   * A request came with the mark of `mustTake`. This hub takes the room if the home of that epoch is dead, or has missed a
   * beat here, too. Before {@link placed}, which waits for it.
   */
  askedToTake(code: string, overEpoch: number): void {
    if (this.#asked.has(code)) return;
    this.#asked.set(code, { overEpoch, untilMs: this.#options.nowMs() + askedMs });
  }

  /** A hub answered that it is not the room's home: what the directory holds counts. */
  notServedBy(code: string, home: Home): void {
    this.#missed.set(code, { epoch: home.epoch, untilMs: this.#options.nowMs() + missedMs });
    this.#states.read(code);
  }

  /** It refused a dial, which counts as a reset. After 2 s of that and a missed beat it is dead. */
  redialRefused(hubId: string): void {
    const { roll, directory, nowMs } = this.#options;
    roll.hubs.refused(hubId, nowMs());
    if (!directory.isUp) this.#settleAll();
  }

  /** A control socket to that hub is open. */
  hubReached(hubId: string): void {
    this.#options.roll.hubs.reached(hubId);
    this.#settleAll();
  }

  /** An inference request of a room with its home here. @param hubId - that the client sent it to */
  requestEntered(code: string, hubId: string): void {
    this.#entered.count(code, hubId, this.#options.nowMs());
  }

  /** The hub that most requests of a room enter at, if the room is to be handed over to it. */
  wantsMove(code: string): HubIdentity | undefined {
    const { nowMs, roll } = this.#options;
    if (this.#isStopping || this.#states.of(code).kind !== "home") return undefined;
    const hub = roll.hubs.get(this.#entered.target(code, nowMs()) ?? "");
    if (hub === undefined || hub.isDraining || roll.hubs.isDoubted(hub)) return undefined;
    return { hubId: hub.hubId, bootId: hub.bootId };
  }

  /** Resolves when the other hub is the home, or when the hand-over was given up: the room is still here then. */
  handOver(code: string, to: HubIdentity): Promise<void> {
    this.#entered.moved(code, this.#options.nowMs());
    return this.#states.handOver(code, to);
  }

  /** Another home hands a room over. @returns whether this hub keeps the snapshot */
  offered(code: string, offer: Offer): boolean {
    if (this.#isStopping) return false;
    const commands = this.#states.step(code, { kind: "offered", offer });
    return commands.some((one) => one.kind === "answerOffer" && one.isAccepted);
  }

  /** Whether this hub is the one that does what any of them could do for a room: the first in rank. */
  isOurs(code: string): boolean {
    const [first] = this.#ranked(code, undefined);
    return this.#options.directory.isUp && first?.hubId === this.#options.self.hubId;
  }

  /** The room does not exist any more. */
  dropped(code: string): void {
    const state = this.#states.of(code);
    const stored = state.kind === "taking" ? undefined : state.stored;
    this.#forget(code);
    if (stored !== undefined) this.#delete(code, stored.revision);
  }

  /** Four times a second, after the roll call has judged. */
  tick(): void {
    this.#noticeSuspension();
    this.#states.retry();
    this.#settleAll();
    const nowMs = this.#options.nowMs();
    for (const code of this.#entered.busy()) {
      const to = this.wantsMove(code);
      if (to !== undefined && this.#options.mayMove(code)) void this.handOver(code, to);
    }
    this.#waiting.expire(nowMs, unavailable);
    this.#entered.tidy(nowMs);
    dropWhere(this.#asked, ({ untilMs }) => nowMs >= untilMs);
    dropWhere(this.#missed, ({ untilMs }) => nowMs >= untilMs);
    dropWhere(this.#takeovers, (takeover) => takeover.isOld(nowMs));
  }

  /**
   * This hub stops: it takes no room any more, and hands those in use to the hub that is first in rank. Resolves when all
   * are handed over, or stay. The others are taken at their first request, once this hub has left the directory.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const left = this.#states.own().filter((code) => this.#options.isInUse(code));
    const giveSome = async () => {
      for (let code = left.pop(); code !== undefined; code = left.pop()) await this.#give(code);
    };
    await Promise.all(Array.from({ length: maxHandOvers }, giveSome));
  }

  async #give(code: string): Promise<void> {
    const isHome = () => this.#states.of(code).kind === "home";
    for (const next of this.#ranked(code, undefined)) {
      await this.handOver(code, next);
      if (!isHome()) return;
    }
    if (isHome()) this.#kept.add(code);
  }

  readonly #taken: HomeHooks["onTaken"] = (code, home, offer) => {
    if (offer !== undefined) this.#entered.moved(code, this.#options.nowMs());
    return this.#options.hooks.onTaken(code, home, offer);
  };

  #look(code: string): Place {
    const state = this.#states.of(code);
    if (state.kind === "home") return { kind: "here", epoch: state.stored.home.epoch };
    if (state.kind !== "elsewhere" || state.stored === undefined) return wait;
    const { home } = state.stored;
    if (this.#isAsked(code, home) || this.#missed.get(code)?.epoch === home.epoch) return wait;
    if (state.seen > home.epoch && this.#states.isReading(code)) return wait;
    const { hubs } = this.#options.roll;
    if (!hubs.isPresent(home) || hubs.isDoubted(home)) return wait;
    return { kind: "there", home, mustTake: false };
  }

  #isAsked(code: string, { epoch }: Home): boolean {
    return epoch <= (this.#asked.get(code)?.overEpoch ?? 0);
  }

  #settleAll(): void {
    for (const code of this.#waiting.codes()) this.#settle(code);
  }

  /** Requests that wait for the room continue or are refused, or this hub takes the room. */
  #settle(code: string): void {
    if (!this.#waiting.has(code)) return;
    const state = this.#states.of(code);
    const place = this.#look(code);
    const refusal = this.#refusal(code, state);
    if (place.kind !== "wait") this.#waiting.resolve(code, place);
    else if (refusal !== undefined) this.#waiting.reject(code, refusal);
    else if (!this.#takeNew(code, state)) this.#takeOver(code, state);
  }

  /** A reason not to wait: without the directory nothing is taken. */
  #refusal(code: string, state: RoomHomeState): HubError | undefined {
    const { directory, roll } = this.#options;
    const isAway = !directory.isUp;
    if (state.kind === "taking" && isAway) return clusterAway();
    if (state.kind !== "elsewhere") return undefined;
    if (state.stored === undefined) {
      if (this.#isStopping) return unavailable(code);
      return isAway ? clusterAway() : undefined;
    }
    const { home } = state.stored;
    const isGone = !roll.hubs.isPresent(home) || roll.hubs.isRefused(home);
    return isAway && isGone ? unavailable(code) : undefined;
  }

  /** @returns whether the room has no home */
  #takeNew(code: string, state: RoomHomeState): boolean {
    if (state.kind !== "elsewhere" || state.stored !== undefined) return false;
    const canTake = this.#options.directory.isUp && !this.#isStopping;
    if (canTake && !this.#states.isReading(code)) this.#states.step(code, { kind: "wanted" });
    return true;
  }

  #takeOver(code: string, state: RoomHomeState): void {
    const { roll, self, directory } = this.#options;
    if (state.kind !== "elsewhere" || state.stored === undefined) return;
    const { stored } = state;
    if (isSame(stored.home, self))
      return void this.#states.step(code, { kind: "stored", stored, isRead: false });
    if (!directory.isUp || this.#states.isReading(code)) return;
    const isAsked = this.#isAsked(code, stored.home) && !this.#isStopping;
    if (!roll.isDead(stored.home) && !(isAsked && roll.isQuiet(stored.home))) return;
    const next = isAsked ? ({ kind: "take" } as const) : this.#nextTaker(code, stored.home);
    if (next?.kind === "take") this.#states.step(code, { kind: "wanted" });
    if (next?.kind !== "ask") return;
    const home = { ...next.hub, epoch: stored.home.epoch };
    this.#waiting.resolveFirst(code, { kind: "there", home, mustTake: true });
  }

  #nextTaker(code: string, { hubId, epoch }: Home) {
    const { nowMs, self } = this.#options;
    const before = this.#takeovers.get(code);
    const takeover = before?.overEpoch === epoch ? before : new Takeover(epoch, nowMs());
    this.#takeovers.set(code, takeover);
    return takeover.next(this.#ranked(code, hubId), self, nowMs());
  }

  /** The hubs that can take a room, in the order in which they do. One that is cut off from the directory cannot. */
  #ranked(code: string, deadHubId: string | undefined): HubIdentity[] {
    const { roll, self, nowMs } = this.#options;
    const others = roll.hubs
      .list()
      .filter((hub) => !hub.isDraining && !roll.hubs.isDoubted(hub))
      .filter((hub) => !roll.hubs.hasMissedBeat(hub, nowMs()))
      .map(({ hubId, bootId }) => ({ hubId, bootId }));
    return rankHubs(code, this.#isStopping ? others : [...others, self], deadHubId);
  }

  /** More than one beat passed in which this process did not run: another hub may have its rooms. */
  #noticeSuspension(): void {
    const { time } = this.#options;
    const before = this.#aliveMs;
    const now = { monotonic: time.monotonicMs(), wall: time.wallMs() };
    this.#aliveMs = now;
    const gapMs = Math.max(now.monotonic - before.monotonic, now.wall - before.wall);
    if (gapMs > PRESENCE_INTERVAL_MS) this.#states.suspended();
  }

  #forget(code: string): void {
    this.#states.forget(code);
    for (const map of [this.#asked, this.#missed, this.#takeovers]) map.delete(code);
    this.#waiting.reject(code, new HubError("room_not_found", `There is no room ${code}.`));
  }

  #delete(code: string, revision: number): void {
    this.#options.directory.deleteHome(code, revision).catch((error: unknown) => {
      // The entry of a room that does not exist does no harm.
      if (!(error instanceof DirectoryUnavailable)) this.#options.reportBug(error);
    });
  }
}

function dropWhere<Value>(map: Map<string, Value>, isOver: (value: Value) => boolean): void {
  for (const [code, value] of map) if (isOver(value)) map.delete(code);
}
