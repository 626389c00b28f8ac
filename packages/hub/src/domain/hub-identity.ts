/** One run of one hub. */
export interface HubIdentity {
  /** 16 hex digits, the same after a restart in the same place */
  readonly hubId: string;
  /** of this run */
  readonly bootId: string;
}

/** The run of a hub that is a room's home. */
export interface Home extends HubIdentity {
  /** rises with each change of home, from 1 */
  epoch: number;
}

/** Where a request for a room is served: here, at another hub, or at none for now. */
export type Place =
  | { kind: "here"; epoch: number }
  /** `mustTake`: the home of that epoch is dead, and this hub is to take the room. The request goes there with a mark. */
  | { kind: "there"; home: Home; mustTake: boolean }
  | { kind: "wait" };
