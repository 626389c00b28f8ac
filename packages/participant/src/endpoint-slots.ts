/** With so many slots, a model server queues by itself: a cloud API, vLLM, SGLang. */
const unboundedLimit = 256;

/** One participant in front of a model server. */
export interface EndpointSeat {
  /** All slots are taken, some of them by requests of other rooms, which this room's hub does not count. */
  isFull(): boolean;
  /** @returns call it when the request ends; repeated calls have no effect */
  begin(): () => void;
  /** The participant has stopped, and runs nothing. */
  close(): void;
}

interface Server {
  /** the number of slots, as far as each participant in front of it knows */
  limits: Set<() => number | undefined>;
  /** requests by room */
  running: Map<string, number>;
  total: number;
}

/**
 * How many requests the participants of one process run at each model server, for all rooms and hubs. A hub counts only the
 * requests of its own rooms; this is the only place that counts all.
 */
export class EndpointSlots {
  readonly #servers = new Map<string, Server>();

  /**
   * @param baseUrl - of the model server
   * @param room - whose requests a hub counts together
   * @param limit - how many requests run at once there, as far as this participant knows
   */
  open(baseUrl: string, room: string, limit: () => number | undefined): EndpointSeat {
    const server = this.#servers.get(baseUrl) ?? {
      limits: new Set(),
      running: new Map(),
      total: 0,
    };
    this.#servers.set(baseUrl, server);
    server.limits.add(limit);
    const add = (count: number) => {
      server.running.set(room, (server.running.get(room) ?? 0) + count);
      server.total += count;
    };
    return {
      isFull: () =>
        server.total > (server.running.get(room) ?? 0) && server.total >= limitOf(server),
      begin() {
        let isRunning = true;
        add(1);
        return () => {
          if (isRunning) add(-1);
          isRunning = false;
        };
      },
      close: () => {
        server.limits.delete(limit);
        if (server.limits.size === 0) this.#servers.delete(baseUrl);
      },
    };
  }
}

function limitOf({ limits }: Server): number {
  const known = [...limits].map((limit) => limit() ?? 0);
  const most = Math.max(0, ...known);
  return most === 0 || most >= unboundedLimit ? Number.POSITIVE_INFINITY : most;
}
