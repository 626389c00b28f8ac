import { CLOSE_CODES, type HubSession } from "@roomhub/tunnel";
import type { Participant } from "../../domain/participant.ts";

/**
 * The open tunnels of one hub. Owns the sessions: whatever is in here gets ticks and is closed.
 *
 * A participant has one current tunnel. A new one is a candidate until its HELLO came, so that requests go on through
 * the old one meanwhile; then the newest with a valid token wins.
 */
export class TunnelRegistry {
  /** by participant key */
  readonly #current = new Map<string, HubSession>();
  /** with their participant's key, in the order they were dialled */
  readonly #candidates = new Map<HubSession, string>();
  /** of participants that other hubs own now: what runs may finish */
  readonly #released = new Set<HubSession>();

  /** Where requests to a participant go. */
  sessionOf(participant: Participant): HubSession | undefined {
    return this.#current.get(participant.key);
  }

  isCurrent(participant: Participant, session: HubSession): boolean {
    return this.#current.get(participant.key) === session;
  }

  addCandidate(participant: Participant, session: HubSession): void {
    this.#candidates.set(session, participant.key);
  }

  /** Its HELLO came: it takes the place of the one before, and of those dialled before it whose HELLO did not come. */
  promote(participant: Participant, session: HubSession): void {
    if (!this.#candidates.has(session)) return;
    const outdated = this.#dialledBefore(participant, session);
    this.#candidates.delete(session);
    const old = this.#current.get(participant.key);
    this.#current.set(participant.key, session);
    for (const each of [...outdated, old]) {
      each?.close(CLOSE_CODES.replaced, "a newer tunnel took its place");
    }
  }

  /** @returns whether it was the current one */
  remove(participant: Participant, session: HubSession): boolean {
    this.#candidates.delete(session);
    this.#released.delete(session);
    return this.isCurrent(participant, session) && this.#current.delete(participant.key);
  }

  /**
   * @param why - `replaced`: another owner took the id, and the next tunnel needs a new token. `elsewhere`: the room has
   * another home, where its agent dials next; what runs may finish
   */
  close(participant: Participant, why: "replaced" | "left" | "elsewhere"): void {
    if (why === "elsewhere") {
      this.#current.get(participant.key)?.goAway("the room has another home");
      this.#closeCandidates(participant, CLOSE_CODES.goingAway, "the room has another home");
      this.#release(participant);
      return;
    }
    const [code, reason] =
      why === "left"
        ? [CLOSE_CODES.done, "the participant left"]
        : [CLOSE_CODES.replaced, "another owner took the id"];
    this.#closeCandidates(participant, code, reason);
    this.#current.get(participant.key)?.close(code, reason);
  }

  #closeCandidates({ key }: Participant, code: number, reason: string): void {
    for (const [session, owner] of [...this.#candidates]) {
      if (owner === key) session.close(code, reason);
    }
  }

  /** Pings, deadness, unconfirmed resets. */
  tick(nowMs: number): void {
    for (const session of this.#all()) session.tick(nowMs);
  }

  /** No new requests from here; what runs may finish. */
  goAway(reason: string): void {
    for (const session of this.#all()) session.goAway(reason);
  }

  closeAll(reason: string): void {
    for (const session of this.#all()) session.close(CLOSE_CODES.goingAway, reason);
  }

  /** The agent has given these up: a HELLO that is late on its way must not put one in the newer one's place. */
  #dialledBefore(participant: Participant, session: HubSession): HubSession[] {
    const dialled = [...this.#candidates.keys()];
    return dialled
      .slice(0, dialled.indexOf(session))
      .filter((older) => this.#candidates.get(older) === participant.key);
  }

  /** Nothing is sent to it from here any more, and what it reports here does not count. */
  #release(participant: Participant): void {
    const session = this.#current.get(participant.key);
    if (session === undefined) return;
    this.#released.add(session);
    this.#current.delete(participant.key);
  }

  #all(): HubSession[] {
    return [...this.#current.values(), ...this.#candidates.keys(), ...this.#released];
  }
}
