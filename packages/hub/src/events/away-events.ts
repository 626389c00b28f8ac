import type { ErrorCode } from "@roomhub/protocol";
import type { HubIdentity, Place } from "../domain/hub-identity.ts";
import type { DivertEvent, RoomEvent } from "./emit.ts";

interface AwayEventsOptions {
  placeOf: (code: string) => Place;
  /** @returns false when there is no connection to that hub now */
  send: (hubId: string, event: RoomEvent) => boolean;
  /** There is a connection to that hub. @param bootId - to that run of it; undefined for whichever there is */
  isOpen: (hubId: string, bootId?: string) => boolean;
  /** The directory can be reached, so this hub knows which rooms it is the home of. */
  isUp: () => boolean;
  /** This hub is about to end. */
  isDraining: () => boolean;
  /** One that came from elsewhere is an event of a room of this hub. */
  publish: (event: RoomEvent) => void;
  /** Tells the hub of its client that this home has published the end of a request, an error. */
  tellEnd: (hubId: string, requestId: string, code: ErrorCode) => void;
  /** A request has ended that may have begun at an earlier home of its room; this may have been reported before. */
  onEnd: (requestId: string) => void;
  nowMs: () => number;
}

/** The end of a request whose home ended while it served it. */
interface Lost {
  end: RoomEvent;
  /** the home that ended, which the room may seem to have for a while; undefined where another hub reported it */
  from: HubIdentity | undefined;
  sinceMs: number;
  /** ms: since when this hub has been the home */
  hereMs: number | undefined;
}

/** An error of a request that another hub piped, while it is not known whether that hub tells another home of its end. */
interface Unsure {
  end: RoomEvent;
  /** the hub of its client */
  hubId: string;
  sinceMs: number;
  /** Neither that hub nor the directory could be reached: others may have the room since. */
  wasCutOff: boolean;
}

/** The oldest are lost beyond it: a room without a home has no stream to keep whole. */
const maxWaiting = 10_000;
/** A home that was silent tells its ends when it is back, within seconds of the hub of the client. */
const maxEnded = 10_000;
/** More do not run at the same time, and what was refused before it began has no end. */
const maxPiped = 20_000;
/** Watchers of a room open its stream again after 2 s (contract §5), and wait for its home. */
const watchAgainMs = 2_000;
/** Its stream is open a moment after the room is served. */
const openedMs = 1_000;
const lostKeptMs = 60_000;
/** Within this time, the hub of a client reports what became of the client, unless that hub has ended. */
const unsureMs = 2_000;
const toldMs = 10_000;
/** When the connection to a home breaks, a home that is alive reports the ends of its requests itself within this time. */
const saidByHomeMs = unsureMs + 500;

/**
 * The events of rooms whose home is another hub, or is about to be: what still runs here has them, and what the home did
 * not live to tell. They get their number at the home, so that a room has one order, and each request one end.
 */
export class AwayEvents {
  readonly #options: AwayEventsOptions;
  /** rooms whose events are not published here */
  readonly #away = new Set<string>();
  readonly #waiting = new Map<string, RoomEvent[]>();
  /** requests whose end is published, and the generation before them */
  #ended = new Set<string>();
  #endedBefore = new Set<string>();
  /** requests that run here and the hubs of their clients, undefined once these have left; the oldest first */
  readonly #piped = new Map<string, string | undefined>();
  #unsure: Unsure[] = [];
  #lost: Lost[] = [];

  constructor(options: AwayEventsOptions) {
    this.#options = options;
  }

  /** From now on the room's events wait, or go to its home. */
  leave(code: string): void {
    this.#away.add(code);
  }

  /** The room is here: what waited is published. */
  stay(code: string): void {
    this.#away.delete(code);
    this.#flush(code);
  }

  readonly divert: DivertEvent = (event) => {
    const { code } = event;
    const { isOpen, isUp, nowMs } = this.#options;
    const isEndOfPiped =
      this.#piped.size > 0 && isEnd(event) && this.#piped.has(requestIdOf(event));
    const hubId = isEndOfPiped ? this.#takePiped(event) : undefined;
    // A process that was suspended learns only when it asks that the room has another home since.
    const isAway = this.#away.has(code) || (hubId !== undefined && !this.#isHere(code));
    if (hubId !== undefined && event.name === "llm.error") {
      const wasCutOff = !isUp() && !isOpen(hubId);
      if (isAway || wasCutOff || isBroken(event)) {
        this.#unsure.push({ end: event, hubId, sinceMs: nowMs(), wasCutOff });
        return true;
      }
    }
    if (isAway) this.arrived(event);
    else if (isEnd(event)) {
      const requestId = requestIdOf(event);
      this.#options.onEnd(requestId);
      if (isEndOfPiped) this.#noteEnd(requestId);
      // An error may cut the response, which looks to the hub of its client as if this one had ended.
      if (hubId !== undefined && event.name === "llm.error")
        this.#options.tellEnd(hubId, requestId, codeOf(event));
    }
    return isAway;
  };

  /** A request begins here that another hub has piped. */
  piped(requestId: string, hubId: string): void {
    this.#piped.set(requestId, hubId);
    if (this.#piped.size > maxPiped) this.#piped.delete(this.#piped.keys().next().value ?? "");
  }

  /** The hub of its client says that the client left, and nothing else of the request. */
  left(requestId: string): void {
    if (this.#piped.has(requestId)) this.#piped.set(requestId, undefined);
    const unsure = this.#unsure.find(({ end }) => requestIdOf(end) === requestId);
    if (unsure === undefined) return;
    this.#unsure.splice(this.#unsure.indexOf(unsure), 1);
    this.arrived(unsure.end);
  }

  /**
   * A home ended on a request of a client of this hub. The next home hears of it at once, and publishes its end when
   * watchers of the room can hear of it: there is no replay.
   */
  lost(end: RoomEvent, from: HubIdentity | undefined): void {
    const lost = { end, from, sinceMs: this.#options.nowMs(), hereMs: undefined };
    if (!this.#hasEnded(requestIdOf(end)) && this.#isPending(lost)) this.#lost.push(lost);
  }

  /**
   * The home of a request says that it has published its end: no other home does, if that one is killed now. The connection
   * of the request may end before or after.
   */
  ended(requestId: string): void {
    this.#lost = this.#lost.filter(({ end }) => requestIdOf(end) !== requestId);
    this.#noteEnd(requestId);
  }

  /** Another hub has one for the home of a room, which is this hub as far as that one knows. */
  arrived(event: RoomEvent): void {
    if (event.isLost === true) return this.lost(event, undefined);
    const waiting = this.#waiting.get(event.code) ?? [];
    waiting.push(event);
    if (waiting.length > maxWaiting) waiting.shift();
    this.#waiting.set(event.code, waiting);
    this.#flush(event.code);
  }

  /** Four times a second: homes may be known by now. */
  tick(): void {
    this.#unsure = this.#unsure.filter((unsure) => this.#isUnsure(unsure));
    this.#lost = this.#lost.filter((lost) => this.#isPending(lost));
    for (const code of [...this.#waiting.keys()]) this.#flush(code);
  }

  /** This hub stops: it publishes now what it has not published yet. */
  close(): void {
    for (const unsure of this.#unsure.splice(0)) this.#tell(unsure);
    for (const { end, hereMs } of this.#lost.splice(0))
      if (hereMs !== undefined) this.#options.publish(end);
    this.tick();
  }

  #isUnsure(unsure: Unsure): boolean {
    const { isUp, nowMs } = this.#options;
    const isEarly = nowMs() - unsure.sinceMs < unsureMs;
    return isEarly || (unsure.wasCutOff && !isUp()) || !this.#tell(unsure);
  }

  /** Tells it where the room is. @returns whether nothing more is to be done: another hub may have told it */
  #tell({ end, hubId, sinceMs }: Unsure): boolean {
    const { placeOf, send, tellEnd, nowMs } = this.#options;
    const place = placeOf(end.code);
    if (place.kind !== "here") {
      const isSent = place.kind === "there" && send(place.home.hubId, end);
      // After this time, the hub of the client has reported it.
      return isSent || nowMs() - sinceMs >= toldMs;
    }
    if (this.#isLeftTo(hubId)) return false;
    this.#publish(end);
    tellEnd(hubId, requestIdOf(end), codeOf(end));
    return true;
  }

  /**
   * The hub of a client that stands still while this one stops: what it would be told is lost with this process, and it
   * tells the end itself once it runs again.
   */
  #isLeftTo(hubId: string): boolean {
    const { isDraining, isOpen } = this.#options;
    return isDraining() && !isOpen(hubId);
  }

  #isPending(lost: Lost): boolean {
    const { end, from, sinceMs } = lost;
    const { placeOf, isOpen, send, publish, onEnd, nowMs } = this.#options;
    const place = placeOf(end.code);
    const home = place.kind === "there" ? place.home : undefined;
    const isNext = place.kind === "here" || (home !== undefined && home.bootId !== from?.bootId);
    if (!isNext) {
      const ageMs = nowMs() - sinceMs;
      const lives = home !== undefined && isOpen(home.hubId, home.bootId);
      return ageMs < (lives ? saidByHomeMs : lostKeptMs);
    }
    if (home !== undefined) return !send(home.hubId, { ...end, isLost: true });
    if (lost.hereMs === undefined && !this.#endsOnce(end)) return false;
    lost.hereMs ??= nowMs();
    if (nowMs() < Math.max(sinceMs + watchAgainMs, lost.hereMs) + openedMs) return true;
    publish(end);
    onEnd(requestIdOf(end));
    return false;
  }

  #isHere(code: string): boolean {
    return this.#options.placeOf(code).kind === "here";
  }

  #takePiped(event: RoomEvent): string | undefined {
    const requestId = requestIdOf(event);
    const hubId = this.#piped.get(requestId);
    this.#piped.delete(requestId);
    return hubId;
  }

  #flush(code: string): void {
    const waiting = this.#waiting.get(code);
    if (waiting === undefined) return;
    const { placeOf, send } = this.#options;
    const place = placeOf(code);
    while (waiting[0] !== undefined) {
      const [event] = waiting;
      if (place.kind === "here") this.#publish(event);
      else if (place.kind === "wait" || !send(place.home.hubId, event)) return;
      waiting.shift();
    }
    this.#waiting.delete(code);
  }

  /** The end of a request may come from the hub that ran it, and from that of its client. */
  #publish(event: RoomEvent): void {
    const { publish, onEnd } = this.#options;
    if (!isEnd(event)) return publish(event);
    if (this.#endsOnce(event)) publish(event);
    onEnd(requestIdOf(event));
  }

  /** @returns whether it is the first end of its request */
  #endsOnce(end: RoomEvent): boolean {
    const requestId = requestIdOf(end);
    if (this.#hasEnded(requestId)) return false;
    this.#noteEnd(requestId);
    return true;
  }

  #hasEnded(requestId: string): boolean {
    return this.#ended.has(requestId) || this.#endedBefore.has(requestId);
  }

  #noteEnd(requestId: string): void {
    this.#ended.add(requestId);
    if (this.#ended.size <= maxEnded) return;
    this.#endedBefore = this.#ended;
    this.#ended = new Set();
  }
}

function isEnd({ name }: RoomEvent): boolean {
  return name === "llm.complete" || name === "llm.error";
}

/** The connection that it was piped over broke: its client has left, or its hub has lost this one. */
function isBroken(end: RoomEvent): boolean {
  return codeOf(end) === "client_disconnected";
}

function codeOf({ payload }: RoomEvent): ErrorCode {
  return (payload as { code: ErrorCode }).code;
}

function requestIdOf({ payload }: RoomEvent): string {
  return (payload as { requestId: string }).requestId;
}
