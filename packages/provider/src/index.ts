export {
  AnswerScrubber,
  type AnswerSecrets,
  answerSecretsOf,
  scrubHeaders,
} from "./answer-scrubber.ts";
export { type AddressClass, classifyAddress, destinationOf } from "./address.ts";
export type { AddressProblem } from "./lookup.ts";
export type { ProviderCall, ProviderRequest, ProviderSink, ResponseHead } from "./provider-call.ts";
export type { ProviderFailure, ProviderFailureCode } from "./failure.ts";
export { type InferenceRequest, ModelServer, type ModelServerOptions } from "./model-server.ts";
export type { ProbeResult } from "./probe.ts";
export type { ReadinessVerdict } from "./readiness/server-readiness.ts";
export { ProviderClient, type ProviderClientOptions } from "./provider-client.ts";
export type { EngineLoad } from "./slots/slot-watch.ts";
export { scrubSecrets } from "./scrub-secrets.ts";
export type { ReportedCapabilities } from "./server-knowledge.ts";
