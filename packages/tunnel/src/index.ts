export { AgentSession } from "./agent-session.ts";
export type { AgentSessionHandlers, AgentSessionOptions } from "./agent-session.ts";
export type { IncomingRequest, RequestBodyHandler, Responder } from "./streams/agent-stream.ts";
export { CLOSE_CODES } from "./wire/close-code.ts";
export type { CloseCode } from "./wire/close-code.ts";
export type { Hello } from "./wire/hello.ts";
export { RequesterSession } from "./requester-session.ts";
export { LogBudget } from "./resume/sent-log.ts";
export type { ResumeClaim, ResumeOffer } from "./wire/resume.ts";
export type {
  RequesterSessionHandlers,
  RequesterSessionOptions,
  ResumeDecision,
} from "./requester-session.ts";
export type { RequestStream, ResponseHandler } from "./streams/outgoing-request.ts";
export type { HeadClient, RequestHead, ResponseHead } from "./wire/message-head.ts";
export { WIRE_LIMITS } from "./wire/frame.ts";
export { RESET_CODES, resetCodeName } from "./wire/reset-code.ts";
export type { ResetCode, ResetCodeName } from "./wire/reset-code.ts";
export type { TunnelBudget, TunnelStatus } from "./wire/status.ts";
export { TUNNEL_SUBPROTOCOL, WS_LIMITS } from "./transport/transport.ts";
export type { Transport, TransportListener } from "./transport/transport.ts";
export { wsTransport } from "./transport/ws-transport.ts";
