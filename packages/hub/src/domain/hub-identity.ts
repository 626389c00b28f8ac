/** One run of one hub. */
export interface HubIdentity {
  /** 16 hex digits, the same after a restart in the same place */
  readonly hubId: string;
  /** of this run */
  readonly bootId: string;
}
