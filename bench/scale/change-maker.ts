import type { ClusterDirectory } from "@roomhub/hub";
import { exponential } from "../room/random.ts";
import { aParticipantEntry } from "../../packages/hub/src/cluster/directory-compliance.fixture.ts";

export interface ChangeRates {
  /** entries that exist */
  participants: number;
  changesPerSecond: number;
  eventsPerSecond: number;
  /** Only wakes up as often, which is what making changes costs a process beside the changes. */
  isDry?: boolean | undefined;
}

/** Changes entries and publishes events at a rate, through the directory of a hub. */
export class ChangeMaker {
  readonly #directory: ClusterDirectory;
  readonly #roomCode: string;
  readonly #name: string;
  readonly #revisions: number[] = [];
  #sequence = 0;
  #isStopped = false;
  /** changes that were stored, and events, since the beginning */
  made = 0;

  /** @param name - of what this one makes: 8 hex digits */
  constructor(directory: ClusterDirectory, roomCode: string, name: string) {
    this.#directory = directory;
    this.#roomCode = roomCode;
    this.#name = name;
  }

  /** Resolves once the participants exist. */
  async start(rates: ChangeRates): Promise<void> {
    const { participants, changesPerSecond, eventsPerSecond, isDry = false } = rates;
    while (this.#revisions.length < participants) {
      const from = this.#revisions.length;
      const batch = Math.min(100, participants - from);
      await Promise.all(Array.from({ length: batch }, (_each, at) => this.#put(from + at)));
    }
    this.#isStopped = false;
    if (changesPerSecond > 0) {
      let at = 0;
      const change = () => void this.#put(at++ % participants).catch(() => {});
      this.#repeat(changesPerSecond, isDry ? () => {} : change);
    }
    if (eventsPerSecond > 0)
      this.#repeat(eventsPerSecond, isDry ? () => {} : () => this.#publish());
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** At random times, as work arrives: work in step would cost less. */
  #repeat(perSecond: number, action: () => void): void {
    let dueMs = performance.now();
    const step = () => {
      if (this.#isStopped) return;
      for (; dueMs <= performance.now(); dueMs += exponential(Math.random, 1_000 / perSecond))
        action();
      setTimeout(step, Math.max(1, dueMs - performance.now()));
    };
    step();
  }

  /** The nickname is the time of the change. */
  async #put(at: number): Promise<void> {
    const nickname = String(performance.timeOrigin + performance.now());
    const entry = aParticipantEntry(this.#roomCode, `${this.#name}-${at}`, nickname);
    const revision = await this.#directory.putParticipant(entry, this.#revisions[at] ?? 0);
    if (revision === undefined) return;
    this.#revisions[at] = revision;
    this.made += 1;
  }

  #publish(): void {
    this.made += 1;
    this.#directory.publish(this.#roomCode, {
      roomCode: this.#roomCode,
      origin: this.#name,
      sequence: ++this.#sequence,
      name: "participant.updated",
      timestamp: "2030-01-01T00:00:00.000Z",
      payload: { participant: { id: `${this.#name}-1`, nickname: "ada", model: "llama3.2:1b" } },
    });
  }
}
