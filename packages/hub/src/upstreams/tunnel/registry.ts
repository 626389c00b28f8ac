import { CLOSE_CODES, type RequesterSession } from "@roomhub/tunnel";
import type { Participant } from "../../domain/participant.ts";

/**
 * The open tunnels of one hub. Ticks and closes their sessions.
 *
 * A participant has one current tunnel. A new tunnel is a candidate until its HELLO, so that requests use the old one
 * meanwhile; then the newest with a valid token wins.
 */
export class TunnelRegistry {
  /** by participant key */
  readonly #current = new Map<string, RequesterSession>();
  /** with the keys of their participants, in the order of dialling */
  readonly #candidates = new Map<RequesterSession, string>();
  /** sessions of participants whose rooms moved to other hubs: running requests may finish */
  readonly #released = new Set<RequesterSession>();

  /** Where requests to a participant go. */
  sessionOf(participant: Participant): RequesterSession | undefined {
    return this.#current.get(participant.key);
  }

  isCurrent(participant: Participant, session: RequesterSession): boolean {
    return this.#current.get(participant.key) === session;
  }

  addCandidate(participant: Participant, session: RequesterSession): void {
    this.#candidates.set(session, participant.key);
  }

  /** HELLO arrived: the session replaces the current one, and candidates that were dialled earlier. */
  promote(participant: Participant, session: RequesterSession): void {
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
  remove(participant: Participant, session: RequesterSession): boolean {
    this.#candidates.delete(session);
    this.#released.delete(session);
    return this.isCurrent(participant, session) && this.#current.delete(participant.key);
  }

  /**
   * @param why - `replaced`: a new registration took the id, and the next tunnel needs a new token. `elsewhere`: the
   * room has another home, where the agent dials next; running requests may finish
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
    for (const [session, participantKey] of [...this.#candidates]) {
      if (participantKey === key) session.close(code, reason);
    }
  }

  /** Checks pings, dead connections and unconfirmed resets. */
  tick(nowMs: number): void {
    for (const session of this.#all()) session.tick(nowMs);
  }

  /** Takes no new requests; running ones may finish. */
  goAway(reason: string): void {
    for (const session of this.#all()) session.goAway(reason);
  }

  closeAll(reason: string): void {
    for (const session of this.#all()) session.close(CLOSE_CODES.goingAway, reason);
  }

  /** The agent has given these up: a late HELLO must not replace the newer tunnel. */
  #dialledBefore(participant: Participant, session: RequesterSession): RequesterSession[] {
    const dialled = [...this.#candidates.keys()];
    return dialled
      .slice(0, dialled.indexOf(session))
      .filter((older) => this.#candidates.get(older) === participant.key);
  }

  /** From now on nothing is sent to the session, and its reports do not count. */
  #release(participant: Participant): void {
    const session = this.#current.get(participant.key);
    if (session === undefined) return;
    this.#released.add(session);
    this.#current.delete(participant.key);
  }

  #all(): RequesterSession[] {
    return [...this.#current.values(), ...this.#candidates.keys(), ...this.#released];
  }
}
