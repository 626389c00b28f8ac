import type { Job, Machine } from "./machine.ts";
import type { RoomRequest } from "./traffic.ts";

export type Choice =
  | { kind: "take"; index: number }
  /** wait for this machine, though another may be free */
  | { kind: "hold"; index: number; untilMs: number }
  | { kind: "full" };

/** Which of a room's machines serves a request. */
export interface Policy {
  /** @param machines - in join order; only the oracle uses more of them than which are present, free and loaded */
  choose(request: RoomRequest, machines: readonly Machine[], nowMs: number): Choice;
  /** One request more, or less, is held for a machine. */
  waits?(index: number, change: 1 | -1): void;
  started?(index: number, request: RoomRequest, nowMs: number): void;
  ended?(index: number, job: Job, nowMs: number): void;
  /** Its prompt is too long for the machine: it is chosen for again. */
  refused?(index: number, job: Job, nowMs: number): void;
  left?(index: number): void;
}

export type PolicyName = "join order" | "random" | "round robin" | "oracle" | "roomhub";

/** The first free one, by join order. */
export function joinOrder(): Policy {
  return { choose: (_request, machines) => taken(machines.findIndex((one) => one.hasRoom)) };
}

export function randomFree(random: () => number): Policy {
  return {
    choose(_request, machines) {
      const free = [...machines.keys()].filter((index) => machines[index]?.hasRoom);
      return taken(free[Math.floor(random() * free.length)] ?? -1);
    },
  };
}

/** The next free one behind the one that was taken last. */
export function roundRobin(): Policy {
  let last = -1;
  return {
    choose(_request, machines) {
      const order = machines.map((_, step) => (last + 1 + step) % machines.length);
      const index = order.find((one) => machines[one]?.hasRoom) ?? -1;
      if (index >= 0) last = index;
      return taken(index);
    },
  };
}

/** Knows every rate, cache and remaining time: the least time to the first token, waiting included. */
export function oracle(): Policy {
  const waiting = new Map<number, number>();
  return {
    choose(request, machines, nowMs) {
      let free: { index: number; ms: number } | undefined;
      let busy: { index: number; ms: number } | undefined;
      for (const [index, machine] of machines.entries()) {
        if (!machine.isPresent) continue;
        if (machine.hasRoom) {
          const ms = machine.firstMsOf(request);
          if (free === undefined || ms < free.ms) free = { index, ms };
        } else {
          const { waitMs, firstMs } = machine.waitMsOf(request, waiting.get(index) ?? 0);
          if (busy === undefined || waitMs + firstMs < busy.ms)
            busy = { index, ms: waitMs + firstMs };
        }
      }
      if (free === undefined) return { kind: "full" };
      if (busy === undefined || free.ms <= busy.ms) return { kind: "take", index: free.index };
      return { kind: "hold", index: busy.index, untilMs: nowMs + free.ms };
    },
    waits(index, change) {
      waiting.set(index, (waiting.get(index) ?? 0) + change);
    },
  };
}

function taken(index: number): Choice {
  return index < 0 ? { kind: "full" } : { kind: "take", index };
}
