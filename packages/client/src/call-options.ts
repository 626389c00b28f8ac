export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface OwnerCallOptions extends CallOptions {
  /** The `participantToken` from the join response; sent as `x-participant-token`, never in a URL. Contract §3. */
  token?: string | undefined;
}
