import type { ErrorCode, InferenceProtocol } from "@roomhub/protocol";
import type { HubIdentity } from "../../domain/participant.ts";
import type { Sender } from "../sender/senders.ts";
import type { Admission, ForwardFacts, ForwardRefusal, ResponseHead } from "../upstream.ts";

/** A request that another hub forwards to the hub that owns the participant. It is served here or refused. */
export interface ForwardedRequest extends ForwardFacts {
  /** the hub that has the client */
  readonly from: HubIdentity;
  readonly target: ForwardTarget;
  readonly method: "POST" | "GET" | "DELETE";
  /** below the provider's base URL, with a leading slash */
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly protocol: InferenceProtocol;
  readonly isStream: boolean;
  readonly sender: Pick<Sender, "client" | "addressId">;
}

/** The participant as the forwarding hub knows it. */
export interface ForwardTarget {
  readonly roomCode: string;
  readonly participantId: string;
  /** of its registration: the same id under another key is another participant */
  readonly participantKey: string;
  /** of the hub that owns it */
  readonly bootId: string;
  /** of its entry in the directory */
  readonly revision: number;
}

/** Where the owner writes the response. After the end, or once the other hub has cancelled, every method does nothing. */
export interface ForwardReply {
  /** Before anything else, except {@link refuse}. */
  admit(admission: Admission): void;
  refuse(refusal: ForwardRefusal): void;
  head(head: ResponseHead): void;
  /** @returns false when the other hub is behind; `onDrain` follows */
  write(chunk: Buffer): boolean;
  end(): void;
  fail(code: ErrorCode, message: string): void;
  /** The body was held back and can continue. */
  resumeBody(): void;
  /** The participant is finished with the request: confirms a cancel. */
  closed(): void;
}

/** Gets the request's body, and what becomes of the response. */
export interface ForwardedCall {
  /** @returns false when nothing more of the body can be held */
  onBody(chunk: Buffer): boolean;
  onBodyEnd(): void;
  /** The client has gone, or the link was lost. Call {@link ForwardReply.closed} once the participant is finished. */
  onCancel(reason: string): void;
  onDrain(): void;
}
