import type { HubIdentity } from "../../domain/hub-identity.ts";

interface Doubt {
  /** of the life in doubt */
  bootId: string;
  /** ms: of the refused dials since the last success; undefined before the first */
  refused: { firstMs: number; lastMs: number } | undefined;
}

export interface ReachOptions {
  /** the latest life of a hub; undefined for one that is not present */
  bootIdOf: (hubId: string) => string | undefined;
  /** ms, monotonic */
  nowMs: () => number;
}

/**
 * Which hubs this one may not reach at the moment: their control socket was reset, or a dial was refused, and none has
 * succeeded since. A hub that is back under another boot id is not in doubt.
 */
export class Reach {
  readonly #options: ReachOptions;
  /** by hub id */
  readonly #doubts = new Map<string, Doubt>();

  constructor(options: ReachOptions) {
    this.#options = options;
  }

  reset(hubId: string): void {
    this.#doubt(hubId);
  }

  /** Counts as a reset, too. */
  refused(hubId: string): void {
    const doubt = this.#doubt(hubId);
    if (doubt === undefined) return;
    const nowMs = this.#options.nowMs();
    doubt.refused = { firstMs: doubt.refused?.firstMs ?? nowMs, lastMs: nowMs };
  }

  reached(hubId: string): void {
    this.#doubts.delete(hubId);
  }

  isDoubted(hub: HubIdentity): boolean {
    return this.#doubts.get(hub.hubId)?.bootId === hub.bootId;
  }

  isRefused(hub: HubIdentity): boolean {
    return this.isDoubted(hub) && this.#doubts.get(hub.hubId)?.refused !== undefined;
  }

  /** ms between the first and the last of the refused dials; 0 for a hub that is not in doubt */
  refusedForMs(hubId: string): number {
    const doubt = this.#doubts.get(hubId);
    if (doubt?.refused === undefined) return 0;
    if (doubt.bootId !== this.#options.bootIdOf(hubId)) return 0;
    return doubt.refused.lastMs - doubt.refused.firstMs;
  }

  /** Forgets the lives that are over. */
  tidy(): void {
    for (const [hubId, { bootId }] of this.#doubts) {
      if (this.#options.bootIdOf(hubId) !== bootId) this.#doubts.delete(hubId);
    }
  }

  #doubt(hubId: string): Doubt | undefined {
    const bootId = this.#options.bootIdOf(hubId);
    if (bootId === undefined) return undefined;
    const before = this.#doubts.get(hubId);
    if (before?.bootId === bootId) return before;
    const doubt: Doubt = { bootId, refused: undefined };
    this.#doubts.set(hubId, doubt);
    return doubt;
  }
}
