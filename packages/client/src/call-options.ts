export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface OwnerCallOptions extends CallOptions {
  /** The `participantToken` from the join response; sent as `x-participant-token`, never in a URL. Contract §3. */
  token?: string | undefined;
}

export interface JoinCallOptions extends OwnerCallOptions {
  /** Takes no id over that another participant has: `participant_id_taken` then. Contract §3. Default false. */
  onlyIfNew?: boolean | undefined;
}

export interface HostCallOptions extends CallOptions {
  /** The `hostToken` from the room's creation; sent as `x-host-token`. Not needed on the hub's own machine. Contract §3. */
  hostToken?: string | undefined;
}
