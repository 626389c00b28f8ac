/** With so many slots, a model server queues by itself: a cloud API, vLLM, SGLang. */
const unboundedLimit = 256;

/** One participant in front of a model server. `epoch` is of the room's home that sends the request, if rooms have homes. */
export interface EndpointSeat {
  /** All slots are taken, some of them by requests that this home does not count: of other rooms, or of the home before. */
  isFull(epoch: number | undefined): boolean;
  /** @returns call it when the request ends; repeated calls have no effect */
  begin(epoch: number | undefined): () => void;
  /** The participant has stopped, and runs nothing. */
  close(): void;
}

interface Server {
  /** the number of slots, as far as each participant in front of it knows */
  limits: Set<() => number | undefined>;
  /** requests by room and epoch of its home */
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
   * @param room - whose requests its home counts together
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
    const { running } = server;
    const homeOf = (epoch: number | undefined) => `${room} ${epoch ?? ""}`;
    const add = (home: string, count: number) => {
      const ofHome = (running.get(home) ?? 0) + count;
      if (ofHome === 0) running.delete(home);
      else running.set(home, ofHome);
      server.total += count;
    };
    return {
      isFull: (epoch) =>
        server.total > (running.get(homeOf(epoch)) ?? 0) && server.total >= limitOf(server),
      begin(epoch) {
        const home = homeOf(epoch);
        let isRunning = true;
        add(home, 1);
        return () => {
          if (isRunning) add(home, -1);
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
