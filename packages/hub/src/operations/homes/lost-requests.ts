import type { InferenceProtocol } from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import type { OperationContext } from "../context.ts";

/** What the hub of a client knows of its request, whose home ended while it served it. */
export interface LostRequest {
  requestId: string;
  protocol: InferenceProtocol;
  /** undefined where no response had begun */
  participantId: string | undefined;
  model: string | undefined;
  attempts: number;
  queueMs: number;
}

/** At the next home of the room: those who watch it learn that the request has ended. */
export function announceLost(
  { registry, emit }: OperationContext,
  code: string,
  { requestId, protocol, participantId, model, attempts, queueMs }: LostRequest,
): void {
  const room = registry.findRoom(code);
  if (room === undefined) return;
  const participant = room.participants.get(participantId ?? "");
  const error = new HubError("peer_unavailable", "The hub that served the request ended.");
  emit.llmError(
    room.code,
    {
      ...{ requestId, protocol, participantId: participantId ?? null },
      nickname: participant?.nickname ?? null,
      endpoint: participant?.endpoint ?? null,
      ...{ model: model ?? null, selector: null, alias: undefined },
      ...{ stage: "hub", error: error.message, code: error.code },
      ...{ client: { kind: "none", id: "" }, attempts, queueMs },
    },
    error.status,
  );
}
