import type { ProviderSink } from "../call/provider-call.ts";

/** What the provider says to one of the requests that serve a call. */
export interface ProviderResponse extends Pick<
  ProviderSink,
  "onHead" | "onData" | "onEnd" | "onFailure"
> {
  /** Nothing of it was passed on; chat gets the request once its socket is closed. */
  readonly isChatNext: boolean;
}
