import type { Participant, Registration } from "../domain/participant.ts";
import type { Room } from "../domain/room.ts";
import { HubError } from "../errors.ts";
import type { OperationContext } from "./context.ts";

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
      {
        param: "endpoint",
        hint: `On its own machine run: roomhub join ${room.code}`,
      },
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
    participant.tunnel.kind === "closed" &&
    nowMs() - participant.lastUsedMs > limits.participantExpiryMs
  );
}
