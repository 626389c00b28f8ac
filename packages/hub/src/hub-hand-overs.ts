import { type FailurePayload, isLoopbackHost, timeoutSignal, type World } from "@roomhub/protocol";
import { classifyAddress } from "@roomhub/provider";
import { isIP } from "node:net";
import { reasonOf } from "./errors.ts";
import type { ClusterDirectory } from "./cluster/directory.ts";
import type { RoomHomes } from "./cluster/homes/room-homes.ts";
import type { Offer } from "./cluster/homes/room-home.ts";
import type { RollCall } from "./cluster/hubs/roll-call.ts";
import type { HubIdentity } from "./domain/hub-identity.ts";
import type { EventBus } from "./events/bus.ts";
import type { InFlight } from "./inference/in-flight.ts";
import type { StoredResponses } from "./inference/stored-responses.ts";
import type { OperationContext } from "./operations/context.ts";
import { AwayEvents } from "./events/away-events.ts";
import { publishEvent, type RoomEvent } from "./events/emit.ts";
import type { Hops } from "./hop/hops.ts";
import { snapshotPath } from "./http/hops/home-places.ts";
import type { ClusterRooms } from "./hub-rooms.ts";
import { GivenRoom, snapshotOf, type SnapshotParts } from "./hub-snapshot.ts";
import type { Log } from "./log.ts";
import { SlotsBefore } from "./operations/homes/slots-before.ts";

/** What hand-overs need of the hub. */
export interface HandOverParts {
  log: Log;
  world: World;
  nowMs: () => number;
  operations: () => OperationContext;
  bus: () => EventBus;
  inFlight: () => InFlight;
  storedResponses: () => StoredResponses;
  /** Its clients' sockets on `/responses` close when their turns are over. */
  closeSockets: (roomCode: string) => void;
  isDraining: () => boolean;
}

export interface HandOverOptions {
  parts: HandOverParts;
  homes: Pick<RoomHomes, "placeOf" | "offered">;
  /** this one, as it is stored */
  computer: () => string;
  hops: Hops;
  roll: RollCall;
  rooms: Pick<ClusterRooms, "catchUp">;
  directory: Pick<ClusterDirectory, "isUp">;
}

/** A hub that takes no room in this time gets none. */
const sendMs = 5_000;

/** Rooms on their way from one home to the next, at both of them. */
export class HandOvers {
  readonly events: AwayEvents;
  readonly #options: HandOverOptions;
  readonly #slots = new SlotsBefore();

  constructor(options: HandOverOptions) {
    this.#options = options;
    const { parts, hops, homes, directory } = options;
    const isOpen = (hubId: string, bootId?: string) => hops.control.isOpen(hubId, bootId);
    this.events = new AwayEvents({
      // Of a room that does not exist nothing is to be said.
      placeOf: (code) =>
        parts.operations().registry.hasCode(code) ? homes.placeOf(code) : { kind: "wait" },
      ...{ isOpen, isUp: () => directory.isUp, isDraining: parts.isDraining, nowMs: parts.nowMs },
      send: (hubId, event) => {
        if (!isOpen(hubId)) return false;
        hops.control.say(hubId, "event", event);
        return true;
      },
      tellEnd: (hubId, requestId, code) =>
        hops.control.say(hubId, code === "client_stalled" ? "stalled" : "ended", requestId),
      publish: (event) => publishEvent(parts.bus(), parts.log, this.#named(event)),
      onEnd: (requestId) => this.#slots.release(parts.operations(), requestId),
    });
  }

  // — at the home before —

  /** Sends a room to its next home. What happens in it from now on waits. */
  async offer(code: string, to: HubIdentity, offer: Offer): Promise<boolean> {
    this.events.leave(code);
    const { hops, parts } = this.#options;
    const snapshot = snapshotOf(this.#sources(), code, offer);
    const response = await hops
      .ask(to, snapshotPath(code), timeoutSignal(parts.world, sendMs), snapshot)
      .catch(() => undefined);
    response?.resume();
    return response?.statusCode === 204;
  }

  /** The room has another home: what waits here goes there, and what runs ends here. */
  left(code: string): void {
    const { parts } = this.#options;
    this.events.leave(code);
    parts.inFlight().roomLeft(code);
    this.#slots.releaseRoom(parts.operations(), code);
    parts.closeSockets(code);
  }

  /** The room is here: for the first time, or because no other hub took it. */
  stays(code: string): void {
    this.events.stay(code);
    this.#options.parts.operations().routingChanged(code);
  }

  /**
   * Whether another hub can serve the room as well: not where this hub dials an address that means another computer
   * elsewhere.
   */
  mayMove(code: string): boolean {
    const room = this.#options.parts.operations().registry.findRoom(code);
    return [...(room?.participants.values() ?? [])].every(
      ({ isTunnelOnly, paths: { direct }, baseUrl }) => {
        return isTunnelOnly || direct.kind === "refused" || isPublic(new URL(baseUrl).hostname);
      },
    );
  }

  // — at the home after —

  /** Never rejects: a room that is not taken stays where it is. @returns whether this hub keeps the snapshot */
  async takeOffer(code: string, from: HubIdentity, snapshot: string): Promise<boolean> {
    const { parts, homes, rooms } = this.#options;
    try {
      const given = new GivenRoom(snapshot);
      if (given.from.bootId !== from.bootId) return false;
      if (!parts.operations().registry.hasCode(code)) await rooms.catchUp(code);
      return homes.offered(code, given);
    } catch (error) {
      const facts = { code, ...from, reason: reasonOf(error) };
      parts.log.warn("a room of another hub cannot be taken over", facts);
      return false;
    }
  }

  /** The directory names this hub: it continues the room as it was. */
  takePlace(code: string, given: GivenRoom): void {
    given.takePlace(this.#sources(), code);
  }

  tick(): void {
    const { roll, parts } = this.#options;
    this.events.tick();
    this.#slots.releaseWhere(parts.operations(), (hub) => !roll.hubs.isPresent(hub));
  }

  /** The hub of a client does not know the participants of a room that it piped to. */
  #named(event: RoomEvent): RoomEvent {
    const { participantId, nickname } = event.payload as Partial<FailurePayload>;
    if (event.name !== "llm.error" || nickname !== null) return event;
    const room = this.#options.parts.operations().registry.findRoom(event.code);
    const participant = room?.participants.get(participantId ?? "");
    if (participant === undefined) return event;
    const { nickname: name, endpoint } = participant;
    return { ...event, payload: { ...event.payload, nickname: name, endpoint } };
  }

  #sources(): SnapshotParts {
    const { parts, computer } = this.#options;
    return {
      operations: parts.operations(),
      bus: parts.bus(),
      inFlight: parts.inFlight(),
      storedResponses: parts.storedResponses(),
      slots: this.#slots,
      computer: computer(),
    };
  }
}

/** Of a name, only resolving it would say. */
function isPublic(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, "");
  if (isIP(address) !== 0) return classifyAddress(address) === "public";
  return !isLoopbackHost(host) && !host.endsWith(".local");
}
