import type { ParticipantSummary } from "@roomhub/protocol";
import type { RoomEvent } from "@roomhub/room-state";
import {
  aParticipant,
  complete,
  failure,
  first,
  joined,
  left,
  progress,
  queued,
  sent,
  updated,
} from "../../../packages/room-state/src/room-events.fixture.ts";

export interface BusyRoomOptions {
  participants: number;
  /** that run at once, about */
  requests: number;
  /** in `[0, 1)` */
  random: () => number;
}

/** The events of a room with much traffic, one after the other, and what is true after them. */
export interface BusyRoom {
  readonly participants: readonly ParticipantSummary[];
  /** requests with a participant */
  readonly running: number;
  readonly waiting: number;
  readonly ended: number;
  next(): RoomEvent;
}

interface Traffic {
  requestId: string;
  outputTokens: number;
  at: { participantId: string; model: string };
  who: { client: { kind: "name"; id: string }; conversation: string };
}

/** Counts by itself, so that what a watcher counts can be compared with it. */
export function createBusyRoom({
  participants: count,
  requests,
  random,
}: BusyRoomOptions): BusyRoom {
  const participants = Array.from({ length: count }, (_, index) => participantAt(index));
  const waiting: Traffic[] = [];
  const running: Traffic[] = [];
  let started = 0;
  let ended = 0;
  let absent: ParticipantSummary | undefined;

  const anyOf = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)];
  const begin = (): RoomEvent => {
    const { id: participantId, model } = anyOf(participants) ?? participantAt(0);
    const number = ++started;
    const client = { kind: "name", id: `person-${number % 40}` } as const;
    const conversation = (number % 120).toString(16).padStart(8, "0");
    const requestId = `req_${number}`;
    const traffic = {
      requestId,
      outputTokens: 0,
      at: { participantId, model },
      who: { client, conversation },
    };
    if (random() < 0.2) return queued(requestId, waiting.push(traffic), traffic.who);
    running.push(traffic);
    return sent(requestId, { ...traffic.at, ...traffic.who });
  };
  const advance = (traffic: Traffic): RoomEvent => {
    const isFirst = traffic.outputTokens === 0;
    traffic.outputTokens += isFirst ? 1 : 20;
    if (isFirst) return first(traffic.requestId, 80 + random() * 400);
    return progress(traffic.requestId, traffic.outputTokens);
  };
  const end = (): RoomEvent => {
    const [traffic] = running.splice(Math.floor(random() * running.length), 1);
    if (traffic === undefined) return begin();
    ended++;
    const { requestId, outputTokens, at, who } = traffic;
    if (random() < 0.05) return failure(requestId, { ...at, ...who });
    const metrics = { ttftMs: 100, durationMs: 4_000, inputTokens: 900, cachedInputTokens: 600 };
    return complete(requestId, { ...metrics, outputTokens }, { ...at, ...who });
  };
  /** One leaves and comes back: the room stays as large as it is. */
  const comeOrLeave = (): RoomEvent => {
    if (absent === undefined) {
      absent = participants.pop();
      return left(absent?.id ?? "nothing");
    }
    const back = absent;
    absent = undefined;
    participants.push(back);
    return joined(back);
  };
  return {
    participants,
    get running() {
      return running.length;
    },
    get waiting() {
      return waiting.length;
    },
    get ended() {
      return ended;
    },
    next() {
      const chance = random();
      if (chance < 0.01) return comeOrLeave();
      if (chance < 0.05) return updated(anyOf(participants) ?? participantAt(0));
      if (running.length + waiting.length < requests) return begin();
      const [head] = waiting;
      if (chance < 0.1 && head !== undefined) {
        running.push(head);
        waiting.shift();
        return sent(head.requestId, { ...head.at, ...head.who });
      }
      const traffic = anyOf(running);
      return chance < 0.2 || traffic === undefined ? end() : advance(traffic);
    },
  };
}

function participantAt(index: number): ParticipantSummary {
  return aParticipant({
    id: `machine-${index}`,
    nickname: `Machine ${index}`,
    model: `model-${index % 12}`,
    specs: { gpu: "RTX 4090", vram: 24 },
  });
}
