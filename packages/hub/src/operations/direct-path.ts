import { shellWord, type Warning } from "@roomhub/protocol";
import type { Participant, Paths, Registration } from "../domain/participant.ts";
import type { DirectReport } from "../domain/path-reports.ts";
import { noteVerdict, updateTrial } from "../domain/readiness.ts";
import type { Room } from "../domain/room.ts";
import { HubError } from "../errors.ts";
import type { OperationContext } from "./context.ts";
import { announceLoadedModels, shownOf, takeCapabilities, takeFacts, takeLoad } from "./learned.ts";
import { announceUpdate, recordLife } from "./presence.ts";

/** A call or probe that the hub made itself shows something of a participant. */
export function directReported(
  context: OperationContext,
  participant: Participant,
  report: DirectReport,
): void {
  switch (report.kind) {
    case "responded":
      return responded(context, participant, report);
    case "failed":
      return failed(context, participant, report.reason);
    case "capabilities":
    case "load":
    case "loaded":
    case "facts":
      return learned(context, participant, report);
  }
}

/** An HTTP response. Contract §2. */
function responded(
  context: OperationContext,
  participant: Participant,
  { verdict, isLife }: Extract<DirectReport, { kind: "responded" }>,
): void {
  const { readiness, problem = "", sinceMs } = verdict;
  participant.paths.lastContactAt = context.wallMs();
  participant.paths.lastContactMs = context.nowMs();
  noteVerdict(participant, readiness, context.nowMs());
  const { direct } = participant.paths;
  const { status } = participant.presence;
  const isSame =
    direct.kind === "answered" && direct.readiness === readiness && direct.problem === problem;
  const hasChanged =
    !isSame && setDirect(participant, { kind: "answered", readiness, problem, sinceMs });
  if (isLife) recordLife(context, participant);
  // A participant that is back was announced as it is now.
  if (hasChanged && !(isLife && status === "offline")) announceUpdate(context, participant);
}

function failed(context: OperationContext, participant: Participant, reason: string): void {
  participant.paths.lastContactMs = context.nowMs();
  noteVerdict(participant, "down", context.nowMs());
  const isSame = participant.paths.direct.kind === "failed";
  const isSet = setDirect(participant, { kind: "failed", reason });
  if (isSet && !isSame) announceUpdate(context, participant);
}

/** @returns false when the hub may not dial the endpoint any more */
function setDirect(participant: Participant, direct: Paths["direct"]): boolean {
  if (participant.paths.direct.kind === "refused") return false;
  participant.paths.direct = direct;
  updateTrial(participant);
  return true;
}

function learned(
  context: OperationContext,
  participant: Participant,
  report: Extract<DirectReport, { kind: "capabilities" | "load" | "loaded" | "facts" }>,
): void {
  const before = shownOf(participant);
  if (report.kind === "capabilities") takeCapabilities(participant, report.capabilities);
  // The agent knows better.
  else if (participant.paths.tunnel.kind !== "closed") return;
  else if (report.kind === "facts") takeFacts(participant, report.facts);
  else if (report.kind === "loaded") {
    context.loadedUpdates.report(participant, report.models);
    announceLoadedModels(context);
  } else {
    const { slots: limit, elsewhere = 0 } = report.load ?? {};
    takeLoad(context, participant, { limit, limitFrom: "engine", elsewhere });
  }
  if (shownOf(participant) !== before) announceUpdate(context, participant);
}

/** Probes the endpoint of a participant that has just named it, so that a warning can say whether it responds. */
export async function firstProbe(context: OperationContext, participant: Participant) {
  if (participant.paths.direct.kind === "untried" && participant.paths.tunnel.kind === "closed") {
    await context.paths.probe(participant);
  }
}

/** Why a participant that just registered cannot be reached, with the line that would work. Contract §3. */
export function pathWarnings(participant: Participant): Warning[] {
  if (participant.isTunnelOnly || participant.paths.tunnel.kind !== "closed") return [];
  const { direct } = participant.paths;
  if (direct.kind !== "refused" && direct.kind !== "failed") return [];
  const line = `roomhub join ${participant.roomCode} --id ${participant.id} --model ${shellWord(participant.model)} --endpoint ${shellWord(participant.endpoint)}`;
  const message = `Requests cannot reach ${participant.id} yet: ${direct.reason}. On its own machine run: ${line}`;
  return [
    { code: direct.kind === "refused" ? "endpoint_not_dialled" : "endpoint_unreachable", message },
  ];
}

/**
 * Whether the hub may probe an endpoint for signs of life. Contract §2, "Probed". Changes nothing.
 *
 * @param registration - as it would be
 * @throws HubError `invalid_endpoint` where the hub may not dial it, `participant_limit_reached`
 */
export function checkProbing(
  context: OperationContext,
  room: Room,
  registration: Pick<
    Registration,
    "id" | "liveness" | "baseUrl" | "isTunnelOnly" | "registrant" | "endpoint" | "model"
  >,
): void {
  const { id, liveness, registrant } = registration;
  if (liveness !== "probe") return;
  const path = context.paths.directPathOf(registration);
  if (path.kind === "refused") {
    throw new HubError(
      "invalid_endpoint",
      `This hub cannot probe the endpoint of ${id}: ${path.reason}.`,
      { param: "endpoint", hint: `On its own machine run: roomhub join ${room.code}` },
    );
  }
  const { probedPerRoom, probedPerAddress } = context.limits;
  const inRoom = countProbed(room.participants.values(), (one) => one.id !== id);
  if (inRoom >= probedPerRoom) {
    throw limitReached(`Room ${room.code} already has ${probedPerRoom}`, "ROOM");
  }
  const ofAddress = countProbed(
    context.registry.participants(),
    (one) =>
      one.registrant.throttleKey === registrant.throttleKey &&
      (one.id !== id || one.roomCode !== room.code),
  );
  if (ofAddress >= probedPerAddress) {
    throw limitReached(`This address already registered ${probedPerAddress}`, "ADDRESS");
  }
}

function countProbed(
  participants: Iterable<Participant>,
  isCounted: (participant: Participant) => boolean,
): number {
  let count = 0;
  for (const one of participants) if (one.liveness === "probe" && isCounted(one)) count++;
  return count;
}

function limitReached(what: string, per: "ROOM" | "ADDRESS"): HubError {
  return new HubError(
    "participant_limit_reached",
    `${what} participants with liveness "probe" (limit ROOMHUB_PROBED_PER_${per}).`,
    {
      param: "liveness",
      hint: "Join without it and send a heartbeat every 10 s, or run an agent: roomhub join",
    },
  );
}

/**
 * Whether a probed participant had no complete response, heartbeat or join for too long. Otherwise an endpoint that
 * responds would be probed for ever. Contract §2.
 */
export function isUnused({ limits, nowMs }: OperationContext, participant: Participant): boolean {
  return (
    participant.liveness === "probe" &&
    participant.paths.tunnel.kind === "closed" &&
    nowMs() - participant.presence.lastUsedMs > limits.participantExpiryMs
  );
}
