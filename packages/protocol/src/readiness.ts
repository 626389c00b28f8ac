import { z } from "zod";

/**
 * Whether a participant's model server can take a request now. Contract §3.
 *
 * - `ready`: it may
 * - `loading`: it answers 503, as servers do that load their model; a request waits for it
 * - `needs-credentials`: it answers 401, 403 or 407
 * - `down`: no connection, no answer, or a gateway in front of it answers 502 or 504
 * - `wrong-model`: it served the participant's model earlier and serves another now
 */
export const Readiness = z.enum(["ready", "loading", "needs-credentials", "down", "wrong-model"]);
export type Readiness = z.infer<typeof Readiness>;

/** What the status of `GET {base}/models` says of a model server. Contract §3. */
export function readinessOfModelList(status: number): Exclude<Readiness, "wrong-model"> {
  switch (status) {
    case 401:
    case 403:
    case 407:
      return "needs-credentials";
    case 503:
      return "loading";
    case 502:
    case 504:
      return "down";
    default:
      return "ready";
  }
}
