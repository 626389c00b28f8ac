import { rememberLast } from "@roomhub/protocol";
import type { Participant } from "./participant.ts";
import { participantView } from "./views.ts";

/** The row of a steady participant. */
interface Row {
  readonly sources: readonly unknown[];
  /** with a comma in front */
  readonly bytes: Buffer;
  /** where its two stamps begin, which are its end */
  readonly stampsAt: number;
  seenAt: number;
  contactAt: number | null;
}

/**
 * Lists participants as JSON, for rooms of thousands. The row of one that is ready is kept as bytes until it changes; its
 * two time stamps, which each sign of life changes, are written over.
 */
export class ParticipantRows {
  /** `2026-11-24T09:40:07.`, which most stamps of a list share */
  readonly #toSecond = rememberLast((second: number) =>
    new Date(second * 1_000).toISOString().slice(0, -"000Z".length),
  );
  readonly #rows = new WeakMap<Participant, Row>();
  /** of the participant that is looked at: a new list for each would be most of the work */
  readonly #sources: unknown[] = [];

  /** @returns the views of {@link participantView}, as the body of a list */
  listOf(participants: readonly Participant[], nowMs: number): Buffer {
    const pieces: Buffer[] = [beginning];
    for (const one of participants) {
      if (isSteady(one)) pieces.push(this.#bytesOf(one, nowMs));
      else pieces.push(Buffer.from(`,${JSON.stringify(participantView(one, nowMs))}`));
    }
    if (pieces[1] !== undefined) pieces[1] = pieces[1].subarray(1);
    pieces.push(end);
    return Buffer.concat(pieces);
  }

  /** @returns its row, which the next list may write over */
  #bytesOf(participant: Participant, nowMs: number): Buffer {
    const { lastSeenAt: seenAt } = participant.presence;
    const { lastContactAt: contactAt } = participant.paths;
    noteSources(this.#sources, participant);
    const kept = this.#rows.get(participant);
    if (kept === undefined || !areSame(kept.sources, this.#sources)) {
      return this.#newRow(participant, nowMs);
    }
    if (kept.seenAt === seenAt && kept.contactAt === contactAt) return kept.bytes;
    const stamps = stampsOf(participant, this.#toSecond);
    if (kept.stampsAt + stamps.length !== kept.bytes.length) {
      return this.#newRow(participant, nowMs);
    }
    kept.bytes.write(stamps, kept.stampsAt, "latin1");
    kept.seenAt = seenAt;
    kept.contactAt = contactAt;
    return kept.bytes;
  }

  #newRow(participant: Participant, nowMs: number): Buffer {
    const { lastSeen, connection, ...others } = participantView(participant, nowMs);
    const { lastTunnelSeenAt: _contact, ...rest } = connection;
    const stamps = stampsOf(participant, this.#toSecond);
    const bytes = Buffer.from(`,${opened(others)},"connection":${opened(rest)}${stamps}`);
    this.#rows.set(participant, {
      sources: [...this.#sources],
      bytes,
      stampsAt: bytes.length - stamps.length,
      seenAt: lastSeen,
      contactAt: participant.paths.lastContactAt,
    });
    return bytes;
  }
}

const beginning = Buffer.from('{"participants":[');
const end = Buffer.from("]}");

/** Whether its view depends on {@link noteSources} and its stamps alone: on no clock, and on no other participant. */
function isSteady({ presence, paths, load }: Participant): boolean {
  const { tunnel } = paths;
  const { machine, restsUntilMs } = load;
  const isReady = tunnel.kind === "open" && tunnel.readiness === "ready";
  const isThere = presence.status === "online" && presence.returning === undefined;
  const isShared = machine !== undefined && machine.members.size > 1;
  return isReady && isThere && restsUntilMs === undefined && !isShared;
}

/**
 * All that the row of a steady participant is made of, but its stamps. Objects among them are replaced when they change.
 */
function noteSources(sources: unknown[], participant: Participant): void {
  const { learned, load, paths, presence } = participant;
  let at = 0;
  sources[at++] = participant.nickname;
  sources[at++] = participant.model;
  sources[at++] = participant.endpoint;
  sources[at++] = participant.specs;
  sources[at++] = participant.config;
  sources[at++] = participant.agentId;
  sources[at++] = participant.liveness;
  sources[at++] = participant.isStandIn;
  sources[at++] = participant.only;
  sources[at++] = participant.batches;
  sources[at++] = presence.joinedAt;
  sources[at++] = paths.tunnel;
  sources[at++] = paths.tunnelProblem;
  sources[at++] = learned.capabilities;
  sources[at++] = learned.context;
  sources[at++] = learned.facts;
  sources[at++] = learned.features;
  sources[at++] = learned.loadedModels;
  sources[at++] = learned.reported;
  sources[at++] = load.active;
  sources[at++] = load.batch;
  sources[at++] = load.queued;
  sources[at++] = load.batchQueued;
  sources[at++] = load.limit;
  sources[at++] = load.limitFrom;
  sources[at++] = load.budget;
}

function areSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  for (let index = 0; index < some.length; index++) {
    if (some[index] !== others[index]) return false;
  }
  return true;
}

/** In ASCII. */
function stampsOf({ paths, presence }: Participant, toSecond: (second: number) => string): string {
  const { lastContactAt } = paths;
  const contact = lastContactAt === null ? "null" : timeOf(lastContactAt, toSecond);
  return `,"lastTunnelSeenAt":${contact}},"lastSeen":${presence.lastSeenAt}}`;
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
