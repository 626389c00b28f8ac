import { CLOSE_CODES, type HubSession } from "@roomhub/tunnel";
import type { Participant } from "../../domain/participant.ts";

/** The open tunnels of one hub, by participant. Owns the sessions: whatever is in here gets ticks and is closed. */
export class TunnelRegistry {
  readonly #sessions = new Map<string, HubSession>();

  get size(): number {
    return this.#sessions.size;
  }

  /** The session requests go to; undefined until its HELLO came. */
  sessionOf(participant: Participant): HubSession | undefined {
    const session = this.#sessions.get(participant.key);
    return session?.isReady === true ? session : undefined;
  }

  isCurrent(participant: Participant, session: HubSession): boolean {
    return this.#sessions.get(participant.key) === session;
  }

  /** The newest tunnel with a valid token wins. Design, "Tunnel wire". */
  put(participant: Participant, session: HubSession): void {
    const old = this.#sessions.get(participant.key);
    this.#sessions.set(participant.key, session);
    old?.close(CLOSE_CODES.replaced, "a newer tunnel took its place");
  }

  remove(participant: Participant, session: HubSession): void {
    if (this.isCurrent(participant, session)) this.#sessions.delete(participant.key);
  }

  close(participant: Participant, why: "replaced" | "left"): void {
    const session = this.#sessions.get(participant.key);
    if (session === undefined) return;
    if (why === "replaced") session.close(CLOSE_CODES.replaced, "another owner took the id");
    else session.close(CLOSE_CODES.done, "the participant left");
  }

  /** About once a second: pings, deadness, unconfirmed resets. */
  tick(nowMs: number): void {
    for (const session of this.#sessions.values()) session.tick(nowMs);
  }

  /** No new requests from here; what runs may finish. */
  goAway(reason: string): void {
    for (const session of this.#sessions.values()) session.goAway(reason);
  }

  closeAll(reason: string): void {
    for (const session of [...this.#sessions.values()])
      session.close(CLOSE_CODES.goingAway, reason);
  }
}
