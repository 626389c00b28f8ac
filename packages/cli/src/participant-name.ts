import type { ParticipantSummary } from "@roomhub/protocol";
import { participantIdProblem } from "@roomhub/protocol";

/** `Ana`, `meta/llama3.2:3b` → `ana-llama3.2-3b`: readable, and valid as an id. */
export function suggestId(nickname: string, model: string): string {
  const modelName = model.replace(/:latest$/, "").replace(/^.*\//, "");
  const id = [nickname, modelName]
    .map(slug)
    .filter((part) => part !== "")
    .join("-");
  const short = id.slice(0, 90).replace(/[^a-z0-9]+$/, "");
  return participantIdProblem(short) === undefined ? short : `participant-${short}`.slice(0, 100);
}

/**
 * The id, or the first of `id-2`, `id-3`, … that nobody is connected under. Two programs of one person would otherwise
 * take the id from each other, since the same address counts as proof (contract §3).
 */
export function freeId(id: string, participants: readonly ParticipantSummary[]): string {
  const taken = new Set(
    participants.filter(({ connection }) => connection.connected).map((entry) => entry.id),
  );
  let candidate = id;
  for (let number = 2; taken.has(candidate); number++) candidate = `${id}-${number}`;
  return candidate;
}

function slug(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9._]+/g, "-")
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, "");
}
