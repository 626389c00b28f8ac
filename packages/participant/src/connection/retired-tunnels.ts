import { type AgentSession, CLOSE_CODES } from "@roomhub/tunnel";
import type { TunnelConnection } from "./tunnel-connection.ts";

interface Retired {
  tunnel: TunnelConnection;
  /** The interrupted session, until it is resumed. */
  waiting: AgentSession | undefined;
  isDialling: boolean;
}

/** Tunnels to hubs that stop, or gave the room away: they bring no new requests, and running ones finish. */
export class RetiredTunnels {
  readonly #all = new Set<Retired>();

  add(tunnel: TunnelConnection): void {
    const retired: Retired = { tunnel, waiting: undefined, isDialling: false };
    this.#all.add(retired);
    tunnel.retire((interrupted) => this.#ended(retired, interrupted));
  }

  get activeStreams(): number {
    let count = 0;
    for (const { tunnel, waiting } of this.#all) count += (waiting ?? tunnel).activeStreams;
    return count;
  }

  /**
   * @param isConnected - elsewhere: a retired tunnel that is done is no longer needed
   * @param hubUrl - a hub that leads to the one with an interrupted session; undefined for none
   */
  tick(nowMs: number, isConnected: boolean, hubUrl: URL | undefined): void {
    for (const retired of this.#all) {
      const { tunnel, waiting, isDialling } = retired;
      waiting?.tick(nowMs);
      const isOver = isConnected && (waiting ?? tunnel).isDone;
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
      onEnded: (_verdict, interrupted) => this.#ended(retired, interrupted),
    });
  }

  /** @param interrupted - undefined after a close, or a dial that failed */
  #ended(retired: Retired, interrupted: AgentSession | undefined): void {
    retired.waiting = interrupted ?? retired.waiting;
    retired.isDialling = false;
    if (retired.waiting?.isInterrupted !== true) this.#all.delete(retired);
  }

  #close(retired: Retired): void {
    this.#all.delete(retired);
    retired.tunnel.close(CLOSE_CODES.done, "moved to another hub");
    retired.waiting?.close(CLOSE_CODES.done, "moved to another hub");
  }
}
