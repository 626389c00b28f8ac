import { z } from "zod";

/**
 * Whether a participant's model server can take a request now. Contract §3.
 *
 * - `ready`: it can
 * - `loading`: it responds 503, as servers do while they load a model; requests wait for it
 * - `needs-credentials`: it responds 401, 403 or 407
 * - `down`: no connection, no response, or a gateway in front of it responds 502 or 504
 * - `wrong-model`: it served the participant's model before and serves another one now
 */
export const Readiness = z.enum(["ready", "loading", "needs-credentials", "down", "wrong-model"]);
export type Readiness = z.infer<typeof Readiness>;

/** The reason that an agent gives while its owner has paused it; the hub shows it as a sentence with nickname and model. */
export const PAUSED_REASON = "paused";

/** The readiness that the status of `GET {base}/models` shows. Contract §3. */
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
