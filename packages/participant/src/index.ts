export { EndpointSlots } from "./endpoint-slots.ts";
export type { ServeFunction } from "./function-call.ts";
export type {
  ResponseMetrics,
  ParticipantNotice,
  RequestOutcome,
  RunningRequest,
  StopReason,
} from "./notice.ts";
export type { BudgetOptions } from "./budget/budget-options.ts";
export type { FunctionParticipantOptions, ParticipantOptions } from "./options.ts";
export { ParticipantError } from "./notice.ts";
export { createParticipant, type Participant, type ParticipantState } from "./participant.ts";
export type { ParticipantTiming } from "./timing.ts";
export { dialAgentFor, type ProxyEnvironment, proxyUrlFor } from "./connection/proxy.ts";
