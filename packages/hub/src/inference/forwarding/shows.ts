import { mustLoad, type Participant } from "../../domain/participant.ts";
import type { Admission } from "../upstream.ts";

/**
 * What the next request at a participant can show of its speed: `load` when the model is loaded for it, nothing when it
 * waits for another one's loading.
 */
export function showsOf(participant: Participant): Admission["shows"] {
  if (!mustLoad(participant)) return "speed";
  return participant.active === 0 ? "load" : "nothing";
}
