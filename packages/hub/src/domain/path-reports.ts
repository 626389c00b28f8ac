import type { ModelContext } from "@roomhub/protocol";
import type { Load, PathVerdict } from "./participant.ts";

/** STATUS of an agent, as far as it is understood. */
export interface ReportedStatus {
  ready: boolean;
  /** a word of `Readiness`; any other word is `down`, and without it `ready` decides */
  readiness?: string | undefined;
  reason?: string | undefined;
  capabilities?: Record<string, string> | undefined;
  limit?: number | undefined;
  /** a word of `LimitSource`; any other is the model server's own */
  limitFrom?: string | undefined;
  elsewhere?: number | undefined;
  loaded?: readonly string[] | undefined;
  context?: ReportedContext | undefined;
  /** words of `Features`; any other is `unknown` */
  features?: Readonly<Record<string, string>> | undefined;
  answersAs?: string | undefined;
  budget?: Load["budget"];
}

interface ReportedContext extends Omit<ModelContext, "from"> {
  /** a word of `ContextSource`; with any other, nothing is known */
  from: string;
}

/** What happens to a participant's tunnel. */
export type TunnelReport =
  /** with the status of the first moment: nothing may reach a participant that is not ready */
  | { readonly kind: "opened"; readonly status: ReportedStatus }
  /** any message or pong */
  | { readonly kind: "alive" }
  | { readonly kind: "status"; readonly status: ReportedStatus }
  /** Its agent reads too slowly for another request, or fast enough again. */
  | { readonly kind: "congested"; readonly isCongested: boolean }
  /** The connection is lost while streams run in it: `resumed` or `closed` follows. */
  | { readonly kind: "interrupted"; readonly streams: number }
  | { readonly kind: "resumed" }
  | { readonly kind: "closed" };

/** What is known of the model behind a model server. */
export type ReportedFacts = Pick<ReportedStatus, "context" | "features" | "answersAs">;

/** What calls and probes of the hub itself show of a participant's endpoint. */
export type DirectReport =
  | {
      readonly kind: "responded";
      /** there is no problem with a server that is ready */
      readonly verdict: Omit<PathVerdict, "problem"> & { problem: string | undefined };
      /** The participant has its endpoint probed for signs of life, and this response is one. */
      readonly isLife: boolean;
    }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "capabilities"; readonly capabilities: Readonly<Record<string, string>> }
  /** The requests that the model server runs at once; undefined for no report. */
  | { readonly kind: "load"; readonly load: { slots?: number; elsewhere?: number } | undefined }
  /** undefined when the server does not say which models it has loaded */
  | { readonly kind: "loaded"; readonly models: readonly string[] | undefined }
  | { readonly kind: "facts"; readonly facts: ReportedFacts };
