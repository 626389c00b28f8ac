export type { ParticipantNotice, RequestOutcome, StopReason } from "./notice.ts";
export { ParticipantError, type ParticipantOptions } from "./options.ts";
export { createParticipant, type Participant, type ParticipantState } from "./participant.ts";
export type { ParticipantTiming } from "./timing.ts";
