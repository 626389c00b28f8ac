import type { EventName, EventPayloads } from "@roomhub/protocol";
import type { HubIdentity } from "../domain/hub-identity.ts";
import type { EventBus } from "./bus.ts";
import type { DivertEvent } from "./emit.ts";

/** An event of a room on its way to the room's home. */
export interface AwayEvent {
  code: string;
  name: EventName;
  timestamp: string;
  payload: object;
}

/** Where a room is served: here, or at another hub. */
export type Served = { kind: "here" } | { kind: "there"; hub: HubIdentity };

interface AwayEventsOptions {
  bus: () => Pick<EventBus, "publish">;
  /** undefined while the room has no home that is known */
  homeOf: (code: string) => Served | undefined;
  /** @returns false when there is no connection to that hub now */
  send: (hubId: string, event: AwayEvent) => boolean;
  /** One that came from another hub is in the room's stream. */
  onPublished: (event: AwayEvent) => void;
}

/** The oldest are lost beyond it: a room without a home has no stream to keep whole. */
const maxWaiting = 10_000;
/** A home that was silent tells its ends when it is back, within seconds of the hub of the client. */
const maxEnded = 10_000;

/**
 * The events of rooms whose home is another hub, or is about to be: what still runs here has them. They get their number at
 * the home, so that a room has one order.
 */
export class AwayEvents {
  readonly #options: AwayEventsOptions;
  /** rooms whose events are not published here */
  readonly #away = new Set<string>();
  readonly #waiting = new Map<string, AwayEvent[]>();
  /** requests of which others have told the end, the oldest first */
  readonly #ended = new Set<string>();

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

  readonly divert: DivertEvent = (code, name, timestamp, payload) => {
    if (!this.#away.has(code)) return false;
    this.arrived({ code, name, timestamp: timestamp(), payload });
    return true;
  };

  /**
   * A request that did not run here has ended. Both the hub that ran it and that of its client may tell it.
   *
   * @returns whether that is news
   */
  endsOnce(requestId: string): boolean {
    if (this.#ended.has(requestId)) return false;
    this.#ended.add(requestId);
    const [oldest = ""] = this.#ended;
    if (this.#ended.size > maxEnded) this.#ended.delete(oldest);
    return true;
  }

  /** Another hub has one for the home of a room, which is this hub as far as that one knows. */
  arrived(event: AwayEvent): void {
    const waiting = this.#waiting.get(event.code) ?? [];
    waiting.push(event);
    if (waiting.length > maxWaiting) waiting.shift();
    this.#waiting.set(event.code, waiting);
    this.#flush(event.code);
  }

  /** Four times a second: homes may be known by now. */
  tick(): void {
    for (const code of [...this.#waiting.keys()]) this.#flush(code);
  }

  #flush(code: string): void {
    const waiting = this.#waiting.get(code);
    const home = waiting && this.#options.homeOf(code);
    if (waiting === undefined || home === undefined) return;
    const { send } = this.#options;
    while (waiting[0] !== undefined) {
      const [event] = waiting;
      if (home.kind === "here") this.#publish(event);
      else if (!send(home.hub.hubId, event)) return;
      waiting.shift();
    }
    this.#waiting.delete(code);
  }

  #publish(event: AwayEvent): void {
    const { code, name, timestamp, payload } = event;
    // The hub that made it gave it the payload that belongs to its name.
    const known = payload as EventPayloads[typeof name];
    const isNews = !isEnd(event) || this.endsOnce(event.payload.requestId);
    if (isNews) this.#options.bus().publish(code, name, () => timestamp, known);
    this.#options.onPublished(event);
  }
}

/** What ends a request in the events of its room. */
export function isEnd(event: AwayEvent): event is AwayEvent & { payload: { requestId: string } } {
  return event.name === "llm.complete" || event.name === "llm.error";
}
