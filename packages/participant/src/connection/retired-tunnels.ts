import { CLOSE_CODES } from "@roomhub/tunnel";
import type { TunnelConnection } from "./tunnel-connection.ts";

/** Tunnels to hubs that stop: no new requests come through them, and those that run finish. */
export class RetiredTunnels {
  readonly #tunnels = new Set<TunnelConnection>();

  add(tunnel: TunnelConnection): void {
    this.#tunnels.add(tunnel);
    tunnel.retire(() => this.#tunnels.delete(tunnel));
  }

  get activeStreams(): number {
    let count = 0;
    for (const tunnel of this.#tunnels) count += tunnel.activeStreams;
    return count;
  }

  /** @param isConnected - elsewhere: those without streams are not needed any more */
  tick(nowMs: number, isConnected: boolean): void {
    for (const tunnel of this.#tunnels) {
      if (isConnected && tunnel.activeStreams === 0) this.#close(tunnel);
      else tunnel.tick(nowMs);
    }
  }

  close(): void {
    for (const tunnel of this.#tunnels) this.#close(tunnel);
  }

  #close(tunnel: TunnelConnection): void {
    this.#tunnels.delete(tunnel);
    tunnel.close(CLOSE_CODES.done, "moved to another hub");
  }
}
