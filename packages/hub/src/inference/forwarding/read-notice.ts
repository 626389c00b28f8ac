import type { LimitSource } from "@roomhub/protocol";
import type { MachineLimits, RemotePlace } from "../../domain/participant.ts";
import type { PaceSnapshot } from "../../domain/placement/pace.ts";
import type { Prompt, PromptBorder } from "../../domain/placement/warm-conversations.ts";
import type {
  GrantNotice,
  LoadItem,
  MachineNotice,
  MeasuredItem,
  NoticeItem,
  PaceSample,
  ParticipantRef,
  ResponseItem,
  ResumedNotice,
  WaitNotice,
  WarmItem,
} from "./notices.ts";

type Fields = Readonly<Record<string, unknown>>;

const maxItems = 1_000;
const maxBorders = 256;
const limitSources: readonly string[] = ["declared", "engine", "learned", "default"];

/**
 * What a notice of another hub says. Its hub is of the cluster but may be of another minor version: what is not known, or
 * not of its form, is left out.
 */
export function readNotice(
  notice: object,
): readonly (WaitNotice | GrantNotice | ResumedNotice | MachineNotice | NoticeItem)[] {
  const fields = notice as Fields;
  if (fields["kind"] === "machine") return listed(machineIn(fields));
  if (fields["kind"] === "wait") return listed(waitIn(fields));
  if (fields["kind"] === "grant") return listed(grantIn(fields));
  if (fields["kind"] === "resumed") return listed(resumedIn(fields));
  const { items } = fields;
  if (fields["kind"] !== "batch" || !Array.isArray(items) || items.length > maxItems) return [];
  return items.flatMap((item: unknown) => listed(isFields(item) ? itemIn(item) : undefined));
}

function itemIn(fields: Fields): NoticeItem | undefined {
  switch (fields["kind"]) {
    case "load":
      return withPlace(fields, (at) => loadIn(at, fields));
    case "measured":
      return withPlace(fields, (at) => measuredIn(at, fields));
    case "warm":
      return withPlace(fields, (at) => warmIn(at, fields));
    case "response":
      return withPlace(fields, (at) => responseIn(at, fields));
    default:
      return undefined;
  }
}

function grantIn(fields: Fields): GrantNotice | undefined {
  return withPlace(fields, (at) => ({ kind: "grant", at, ...ownIn(fields) }));
}

function ownIn({ isOwn }: Fields): Pick<WaitNotice, "isOwn"> {
  return isOwn === true ? { isOwn } : {};
}

function waitIn(fields: Fields): WaitNotice | undefined {
  const { count, address, person } = fields;
  if (!isCount(count) || !isText(address) || !isText(person)) return undefined;
  return withPlace(fields, (at) => ({
    kind: "wait",
    at,
    count,
    address,
    person,
    ...ownIn(fields),
  }));
}

function machineIn({ machine, taken, waiting, limits, asks }: Fields): MachineNotice | undefined {
  if (!isText(machine) || !isCount(taken) || !isCount(waiting)) return undefined;
  const read = isFields(limits) ? limitsIn(limits) : undefined;
  if (read === undefined) return undefined;
  const asked = asks === true ? true : undefined;
  return { kind: "machine", machine, taken, waiting, limits: read, asks: asked };
}

function limitsIn({ reported, declared, most }: Fields): MachineLimits | undefined {
  if (!isCount(reported) || !isCount(most)) return undefined;
  return { reported, declared: isCount(declared) ? declared : undefined, most };
}

function resumedIn(fields: Fields): ResumedNotice | undefined {
  const { requestId } = fields;
  if (!isText(requestId)) return undefined;
  return withPlace(fields, (at) => ({ kind: "resumed", at, requestId }));
}

function loadIn(at: ParticipantRef, fields: Fields): LoadItem | undefined {
  const { elsewhere, limit, limitFrom, lastSeenAt, machine, pace } = fields;
  if (!isCount(elsewhere) || !isCount(limit) || !isAmount(lastSeenAt)) return undefined;
  if (typeof limitFrom !== "string" || !limitSources.includes(limitFrom)) return undefined;
  const source = limitFrom as LimitSource;
  const read = pace === undefined ? undefined : paceIn(pace);
  return {
    ...{ kind: "load", at, elsewhere, limit, limitFrom: source, lastSeenAt, pace: read },
    ...(machine === undefined ? {} : { machine: machineViewIn(machine) }),
  };
}

function machineViewIn(value: unknown): RemotePlace["machine"] | null {
  if (!isFields(value)) return null;
  const { id, active, limit } = value;
  return isText(id) && isCount(active) && isCount(limit) ? { id, active, limit } : null;
}

function measuredIn(at: ParticipantRef, fields: Fields): MeasuredItem {
  const { first, hasFailed, restsMs, refusesStreamUsage, reportsUsageItself } = fields;
  return {
    ...{ kind: "measured", at, first: isFields(first) ? sampleIn(first) : undefined },
    hasFailed: hasFailed === true ? true : undefined,
    restsMs: isAmount(restsMs) ? restsMs : undefined,
    refusesStreamUsage: refusesStreamUsage === true ? true : undefined,
    reportsUsageItself: reportsUsageItself === true ? true : undefined,
  };
}

function sampleIn({ shows, form, promptBytes, coldBytes, tookMs }: Fields): PaceSample | undefined {
  if (shows !== "speed" && shows !== "load") return undefined;
  if (form !== "stream" && form !== "whole") return undefined;
  if (!isAmount(promptBytes) || !isAmount(coldBytes) || !isAmount(tookMs)) return undefined;
  return { shows, form, promptBytes, coldBytes, tookMs };
}

function warmIn(at: ParticipantRef, { prompt, isBound }: Fields): WarmItem | undefined {
  const read = isFields(prompt) ? promptIn(prompt) : undefined;
  return read && { kind: "warm", at, prompt: read, isBound: isBound === true };
}

function promptIn({ session, borders, bytes }: Fields): Prompt | undefined {
  if (session !== undefined && !isText(session)) return undefined;
  if (!isAmount(bytes) || !Array.isArray(borders) || borders.length > maxBorders) return undefined;
  if (!borders.every(isBorder)) return undefined;
  return { session, borders, bytes };
}

function isBorder(value: unknown): value is PromptBorder {
  return isFields(value) && Number.isSafeInteger(value["key"]) && isAmount(value["bytes"]);
}

function responseIn(at: ParticipantRef, { responseId }: Fields): ResponseItem | undefined {
  return isText(responseId) ? { kind: "response", at, responseId } : undefined;
}

function paceIn(value: unknown): PaceSnapshot | undefined {
  if (!isFields(value)) return undefined;
  const { stream, whole, measuredAgoMs, slotMs, loadMs, doubtMs } = value;
  if (!isFit(stream) || !isFit(whole)) return undefined;
  const doubt = Array.isArray(doubtMs) && doubtMs.length === 2 && doubtMs.every(isAmount);
  return {
    ...{ stream, whole },
    measuredAgoMs: isAmount(measuredAgoMs) ? measuredAgoMs : undefined,
    slotMs: isAmount(slotMs) ? slotMs : undefined,
    loadMs: isAmount(loadMs) ? loadMs : undefined,
    doubtMs: doubt ? (doubtMs as [number, number]) : undefined,
  };
}

function isFit(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length === 12 && value.every(isAmount);
}

function withPlace<Item>(
  { at }: Fields,
  read: (at: ParticipantRef) => Item | undefined,
): Item | undefined {
  if (!isFields(at)) return undefined;
  const { roomCode, id, key } = at;
  if (!isText(roomCode) || !isText(id) || !isText(key)) return undefined;
  return read({ roomCode, id, key });
}

function listed<Item>(item: Item | undefined): Item[] {
  return item === undefined ? [] : [item];
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= 1_024;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
