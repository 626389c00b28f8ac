export {
  ResponseScrubber,
  type ResponseSecrets,
  responseSecretsOf,
  scrubHeaders,
} from "./secrets/response-scrubber.ts";
export { type AddressClass, classifyAddress, destinationOf } from "./call/address.ts";
export { InvalidResponseError, type ParsedHead, ResponseHeads } from "./call/response-head.ts";
export { type ResponseParts, ResponseReader } from "./call/response-reader.ts";
export { PooledSocket, type SocketUser } from "./call/socket-pool.ts";
export type { AddressProblem } from "./call/lookup.ts";
export type {
  ProviderCall,
  ProviderRequest,
  ProviderSink,
  ResponseHead,
} from "./call/provider-call.ts";
export type { ProviderFailure, ProviderFailureCode } from "./call/failure.ts";
export { type ModelServerRequest, ModelServer, type ModelServerOptions } from "./model-server.ts";
export { PassingSink } from "./passing-sink.ts";
export type { ProbeResult } from "./learn/probe.ts";
export type { ReadinessVerdict } from "./readiness/server-readiness.ts";
export { ProviderClient, type ProviderClientOptions } from "./call/provider-client.ts";
export type { KnownFacts } from "./learn/facts-watch.ts";
export type { EngineLoad } from "./slots/slot-watch.ts";
export { scrubSecrets } from "./secrets/secret-forms.ts";
export type { ReportedCapabilities } from "./learn/server-knowledge.ts";
