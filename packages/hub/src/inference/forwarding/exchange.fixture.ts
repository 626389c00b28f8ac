import type { Participant, RemotePlace } from "../../domain/participant.ts";
import { aParticipant, aRoom } from "../../domain/room.fixture.ts";
import { RoomQueues } from "../queue.ts";
import { Machines } from "../../domain/machine.ts";
import { ResponseOwners } from "../response-owners.ts";
import { Exchange } from "./exchange.ts";
import type { PeerLinks } from "./peers.ts";

const pathIsOpen = { kind: "open", readiness: "ready", problem: "", sinceMs: 0 } as const;

/**
 * Hubs that each know all participants of one room, with links in memory and a clock that moves on demand.
 *
 * @param placed - participant ids and the hub that owns each
 */
export function createExchanges(hubNames: readonly string[], placed: Record<string, string>) {
  let nowMs = 10_000;
  let timers: { atMs: number; callback: () => void }[] = [];
  const wire: { from: string; to: string; notice: object }[] = [];
  const hubs = new Map(hubNames.map((name) => [name, createHub(name)]));

  function identity(name: string) {
    return { hubId: name.repeat(16), bootId: name.repeat(8) };
  }

  function createHub(name: string) {
    const participants = Object.entries(placed).map(([id, owner]) =>
      aParticipant({
        ...{ id, key: `key of ${id}`, limit: 2, tunnel: pathIsOpen },
        remote: owner === name ? undefined : remotePlace(owner),
      }),
    );
    const room = aRoom(...participants);
    const machines = new Machines((machine) => exchange.machineChanged(machine));
    const rests: [id: string, untilMs: number][] = [];
    const resumed: string[] = [];
    const makers = new ResponseOwners(100);
    const queues = new RoomQueues(100, (code) => exchange.queueChanged(code));
    const nameOf = (hubId: string) => hubId[0] ?? "";
    const links: PeerLinks = {
      openHubIds: () =>
        hubNames.filter((other) => other !== name).map((other) => identity(other).hubId),
      notify: (hubId, notice) => {
        // As on the wire.
        wire.push({ from: name, to: nameOf(hubId), notice: JSON.parse(JSON.stringify(notice)) });
      },
      ask: (hubId, path, body) => {
        const response = hubs.get(nameOf(hubId))?.exchange.respond(path, body);
        return response === undefined
          ? Promise.reject(new Error("lost"))
          : Promise.resolve(response);
      },
    };
    const exchange: Exchange = new Exchange({
      links,
      queues: () => queues,
      findRoom: (code) => (code === room.code ? room : undefined),
      machines: () => machines,
      own: () => participants.filter(({ remote }) => remote === undefined),
      makers,
      participantRests: ({ id }, untilMs) => void rests.push([id, untilMs]),
      requestResumed: ({ id }, requestId) => void resumed.push(`${requestId} at ${id}`),
      nowMs: () => nowMs,
      later: (ms, callback) => void timers.push({ atMs: nowMs + ms, callback }),
    });
    const at = (id: string): Participant => room.participants.get(id) as Participant;
    return { name, exchange, room, queues, makers, rests, resumed, machines, at };
  }

  function remotePlace(owner: string): RemotePlace {
    const place = {
      revision: 1,
      elsewhere: 0,
      grant: undefined,
      machine: undefined,
      machineKey: undefined,
    };
    return { owner: identity(owner), hasSecrets: false, ...place };
  }

  /** Delivers what is on the wire, and what follows from it. */
  function deliver(): void {
    for (let next = wire.shift(); next !== undefined; next = wire.shift()) {
      hubs.get(next.to)?.exchange.noticed(identity(next.from), next.notice);
    }
  }

  /** Lets time pass, with all that is due and delivered in it. */
  function pass(ms: number): void {
    const untilMs = nowMs + ms;
    for (;;) {
      deliver();
      timers.sort((one, other) => one.atMs - other.atMs);
      const [next] = timers;
      if (next === undefined || next.atMs > untilMs) break;
      timers = timers.slice(1);
      nowMs = Math.max(nowMs, next.atMs);
      next.callback();
    }
    nowMs = untilMs;
  }

  return {
    hub: (name: string) => hubs.get(name) as ReturnType<typeof createHub>,
    identity,
    wire,
    pass,
    deliver,
    nowMs: () => nowMs,
  };
}
