import { decodeRegistration, encodeRegistration } from "./cluster/homes/registration.ts";
import type { GateMemory } from "./credentials/password-gate.ts";
import type { Home, Offer } from "./cluster/homes/room-home.ts";
import type { Room } from "./domain/room.ts";
import { storedRegistrationOf } from "./domain/stored-registration.ts";
import type { EventBus, RoomStream } from "./events/bus.ts";
import type { InFlight } from "./inference/in-flight.ts";
import type { StoredResponses } from "./inference/stored-responses.ts";
import type { OperationContext } from "./operations/context.ts";
import { type ParticipantState, stateOf } from "./operations/homes/participant-state.ts";
import { takeParticipants } from "./operations/homes/restore-participants.ts";
import type { SlotBefore, SlotsBefore } from "./operations/homes/slots-before.ts";

/** What a room's home is in its process, for the next home. Secrets are in it: it goes over proven connections alone. */
interface RoomSnapshot {
  format: typeof format;
  offer: Offer;
  /** `registration` as the directory has it */
  participants: { registration: string; state: ParticipantState }[];
  events: RoomStream;
  /** ids of responses and participants, the longest unused first */
  responses: [string, string][];
  /** sessions and participants; ms since they were used */
  sessions: [string, string, number][];
  conversations: { by: string; keys: readonly (string | number)[]; bytes: number; ms: number }[];
  /** of a room with a password */
  guesses: GateMemory | undefined;
  running: SlotBefore[];
  lastUsedAt: number;
}

const format = 1;

/** What snapshots are made from, and put back into. */
export interface SnapshotParts {
  operations: OperationContext;
  bus: EventBus;
  inFlight: InFlight;
  storedResponses: StoredResponses;
  slots: SlotsBefore;
  /** this one, as it is stored */
  computer: string;
}

/** @throws HubError `room_not_found` */
export function snapshotOf(parts: SnapshotParts, code: string, offer: Offer): string {
  const { operations, bus, inFlight, storedResponses, slots, computer } = parts;
  const { vault, passwordGate } = operations;
  const password = operations.roomPasswords.get(code);
  const room = operations.registry.room(code);
  const [nowMs, storedAt] = [operations.nowMs(), Math.round(operations.wallMs())];
  const running = inFlight.statusesIn(code).flatMap(({ facts, holder, startedMs, place }) => {
    const { requestId, participant } = facts;
    if (participant === undefined || place !== undefined) return [];
    const { id: participantId } = participant;
    const { address, person } = holder;
    const runsForMs = nowMs - startedMs;
    return [{ requestId, hub: undefined, participantId, holder: { address, person }, runsForMs }];
  });
  const snapshot: RoomSnapshot = {
    ...{ format, offer, lastUsedAt: room.lastUsedAt, events: bus.streamOf(code) },
    participants: [...room.participants.values()].map((one) => {
      const facts = { hasAuthHeaders: vault.has(one.key), computer, storedAt };
      const registration = encodeRegistration(storedRegistrationOf(one, facts));
      return { registration, state: stateOf(operations, one) };
    }),
    responses: [...storedResponses.all(room)].map(([id, { id: by }]) => [id, by]),
    sessions: [...room.placing.sessions.all()].map(({ session, participant, usedMs }) => [
      ...([session, participant.id, nowMs - usedMs] as const),
    ]),
    conversations: [...room.placing.warm.all()].map(({ participant, keys, bytes, usedMs }) => ({
      ...{ by: participant.id, keys, bytes, ms: nowMs - usedMs },
    })),
    guesses: password && passwordGate.memoryOf(code, password),
    running: [...running, ...slots.of(code, nowMs)],
  };
  return JSON.stringify(snapshot);
}

/** A room that another hub offers, with its snapshot. */
export class GivenRoom implements Offer {
  readonly from: Home;
  readonly number: number;
  readonly #snapshot: RoomSnapshot;

  /** @throws Error for one of another format */
  constructor(text: string) {
    const snapshot = JSON.parse(text) as RoomSnapshot;
    if (snapshot.format !== format) throw new Error("a snapshot of another format");
    this.#snapshot = snapshot;
    ({ from: this.from, number: this.number } = snapshot.offer);
  }

  /** This hub is the room's home now. @throws HubError `room_not_found` */
  takePlace(parts: SnapshotParts, code: string): void {
    const { operations, bus, slots, computer } = parts;
    const { participants, events, running, lastUsedAt } = this.#snapshot;
    const room = operations.registry.room(code);
    const given = participants.map(({ registration, state }) => {
      const stored = decodeRegistration(JSON.parse(registration) as object);
      return { registration: stored, state };
    });
    bus.goOn(code, events);
    room.lastUsedAt = Math.max(room.lastUsedAt, lastUsedAt);
    takeParticipants(operations, code, given, computer);
    this.#learn(parts, room);
    for (const slot of running) slots.hold(operations, code, this.from, slot);
  }

  /** Where requests went, and what came of them. */
  #learn({ operations, storedResponses }: SnapshotParts, room: Room): void {
    const { responses, sessions, conversations, guesses } = this.#snapshot;
    const nowMs = operations.nowMs();
    const password = operations.roomPasswords.get(room.code);
    if (password !== undefined && guesses !== undefined)
      operations.passwordGate.remember(room.code, password, guesses);
    for (const [id, by] of responses) {
      const maker = room.participants.get(by);
      if (maker !== undefined) storedResponses.remember(room, id, maker);
    }
    for (const [session, by, ms] of sessions) {
      const participant = room.participants.get(by);
      if (participant !== undefined) room.placing.sessions.bind(session, participant, nowMs - ms);
    }
    for (const { by, keys, bytes, ms } of conversations) {
      const participant = room.participants.get(by);
      if (participant === undefined) continue;
      room.placing.warm.learn({ participant, keys, bytes, usedMs: nowMs - ms });
    }
  }
}
