const most = 60;
const withinMs = 60_000;

/**
 * How often each session of late got another connection. A path that breaks all the time is not to be dialled all the time.
 * Contract §3, "A lost connection". Reads no clock.
 */
export class TunnelResumes {
  readonly #resumedMs = new WeakMap<object, number[]>();

  /**
   * @param session - a new session counts anew
   * @returns whether it may have one more; it is counted only then
   */
  take(session: object, nowMs: number): boolean {
    const recent = (this.#resumedMs.get(session) ?? []).filter(
      (resumedMs) => nowMs - resumedMs < withinMs,
    );
    const mayResume = recent.length < most;
    if (mayResume) recent.push(nowMs);
    this.#resumedMs.set(session, recent);
    return mayResume;
  }
}
