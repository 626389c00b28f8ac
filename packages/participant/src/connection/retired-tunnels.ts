import { type AgentSession, CLOSE_CODES } from "@roomhub/tunnel";
import type { TunnelConnection } from "./tunnel-connection.ts";

interface Retired {
  tunnel: TunnelConnection;
  /** The session of a connection that broke, until another one has it. */
  waiting: AgentSession | undefined;
  isDialling: boolean;
}

/** Tunnels to hubs that stop, or gave the room away: no new requests come through them, and those that run finish. */
export class RetiredTunnels {
  readonly #all = new Set<Retired>();

  add(tunnel: TunnelConnection): void {
    const retired: Retired = { tunnel, waiting: undefined, isDialling: false };
    this.#all.add(retired);
    tunnel.retire((broken) => this.#ended(retired, broken));
  }

  get activeStreams(): number {
    let count = 0;
    for (const { tunnel, waiting } of this.#all) count += (waiting ?? tunnel).activeStreams;
    return count;
  }

  /**
   * @param isConnected - elsewhere: those without streams are not needed any more
   * @param hubUrl - a hub that leads to the one with the session of a broken connection; undefined for none
   */
  tick(nowMs: number, isConnected: boolean, hubUrl: URL | undefined): void {
    for (const retired of this.#all) {
      const { tunnel, waiting, isDialling } = retired;
      waiting?.tick(nowMs);
      const isOver = isConnected && (waiting ?? tunnel).activeStreams === 0;
      if (isOver || waiting?.isInterrupted === false || (waiting && hubUrl === undefined))
        this.#close(retired);
      else if (waiting === undefined || isDialling) tunnel.tick(nowMs);
      else if (hubUrl !== undefined) this.#dial(retired, waiting, hubUrl);
    }
  }

  close(): void {
    for (const retired of this.#all) this.#close(retired);
  }

  #dial(retired: Retired, session: AgentSession, hubUrl: URL): void {
    retired.isDialling = true;
    retired.tunnel = retired.tunnel.redial(session, hubUrl, {
      onOpened: () => {
        retired.waiting = undefined;
        retired.isDialling = false;
      },
      onEnded: (_verdict, broken) => this.#ended(retired, broken),
    });
  }

  /** @param broken - undefined after a close, or a dial that failed */
  #ended(retired: Retired, broken: AgentSession | undefined): void {
    retired.waiting = broken ?? retired.waiting;
    retired.isDialling = false;
    if (retired.waiting?.isInterrupted !== true) this.#all.delete(retired);
  }

  #close(retired: Retired): void {
    this.#all.delete(retired);
    retired.tunnel.close(CLOSE_CODES.done, "moved to another hub");
    retired.waiting?.close(CLOSE_CODES.done, "moved to another hub");
  }
}
