import { rememberLast } from "@roomhub/protocol";
import type { Participant } from "./participant.ts";
import { participantView } from "./views.ts";

/**
 * Lists participants as JSON, for rooms of thousands. The row of one that is ready is kept as bytes until it changes; its
 * two time stamps, which each sign of life changes, are at the end.
 */
export class ParticipantRows {
  /** `2026-11-24T09:40:07.`, which most stamps of a list share */
  readonly #toSecond = rememberLast((second: number) =>
    new Date(second * 1_000).toISOString().slice(0, -"000Z".length),
  );
  readonly #rows = new WeakMap<Participant, { sources: unknown[]; bytes: Buffer }>();

  /** @returns the views of {@link participantView}, as the body of a list */
  listOf(participants: readonly Participant[], nowMs: number): Buffer {
    const pieces: Buffer[] = [Buffer.from('{"participants":[')];
    for (const one of participants) {
      if (pieces.length > 1) pieces.push(comma);
      if (isSteady(one)) pieces.push(this.#bytesOf(one, nowMs), stampsOf(one, this.#toSecond));
      else pieces.push(Buffer.from(JSON.stringify(participantView(one, nowMs))));
    }
    pieces.push(Buffer.from("]}"));
    return Buffer.concat(pieces);
  }

  /** A row without its stamps. */
  #bytesOf(participant: Participant, nowMs: number): Buffer {
    const sources = sourcesOf(participant);
    const kept = this.#rows.get(participant);
    if (kept !== undefined && areSame(kept.sources, sources)) return kept.bytes;
    const { lastSeen: _seen, connection, ...others } = participantView(participant, nowMs);
    const { lastTunnelSeenAt: _contact, ...rest } = connection;
    const bytes = Buffer.from(`${opened(others)},"connection":${opened(rest)}`);
    this.#rows.set(participant, { sources, bytes });
    return bytes;
  }
}

const comma = Buffer.from(",");

/** Whether its view depends on {@link sourcesOf} alone: on no clock, and on no other participant. */
function isSteady({ presence, paths, load }: Participant): boolean {
  const { tunnel } = paths;
  const { machine, restsUntilMs } = load;
  const isReady = tunnel.kind === "open" && tunnel.readiness === "ready";
  const isThere = presence.status === "online" && presence.returning === undefined;
  const isShared = machine !== undefined && machine.members.size > 1;
  return isReady && isThere && restsUntilMs === undefined && !isShared;
}

/** All that the row of a steady participant is made of. Objects among them are replaced when they change. */
function sourcesOf(participant: Participant): unknown[] {
  const { learned, load, paths, presence } = participant;
  return [
    participant.nickname,
    participant.model,
    participant.endpoint,
    participant.specs,
    participant.config,
    participant.agentId,
    participant.liveness,
    participant.isStandIn,
    participant.only,
    participant.batches,
    presence.joinedAt,
    paths.tunnel,
    paths.tunnelProblem,
    learned.capabilities,
    learned.context,
    learned.facts,
    learned.features,
    learned.loadedModels,
    learned.reported,
    load.active,
    load.batch,
    load.queued,
    load.batchQueued,
    load.limit,
    load.limitFrom,
    load.budget,
  ];
}

function areSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  for (let index = 0; index < some.length; index++) {
    if (some[index] !== others[index]) return false;
  }
  return true;
}

function stampsOf({ paths, presence }: Participant, toSecond: (second: number) => string): Buffer {
  const { lastContactAt } = paths;
  const contact = lastContactAt === null ? "null" : timeOf(lastContactAt, toSecond);
  return Buffer.from(
    `,"lastTunnelSeenAt":${contact}},"lastSeen":${presence.lastSeenAt}}`,
    "latin1",
  );
}

/** @param epochMs - a whole number */
function timeOf(epochMs: number, toSecond: (second: number) => string): string {
  const second = Math.floor(epochMs / 1_000);
  return `"${toSecond(second)}${String(epochMs - second * 1_000).padStart(3, "0")}Z"`;
}

/** The JSON of an object that has members, without the brace at its end. */
function opened(object: object): string {
  return JSON.stringify(object).slice(0, -1);
}
