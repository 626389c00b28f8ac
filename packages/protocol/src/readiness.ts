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
