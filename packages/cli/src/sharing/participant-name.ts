import type { ParticipantSummary } from "@roomhub/protocol";
import { participantIdProblem, withoutLatest } from "@roomhub/protocol";

/**
 * `Ana`, `meta/llama3.2:3b` → `ana-llama3.2-3b`: readable, and valid as an id. A model named by its file, as in llama.cpp
 * without `--alias`, loses its folders and `.gguf`.
 */
export function suggestId(nickname: string, model: string): string {
  const modelName = withoutLatest(model)
    .replace(/^.*[/\\]/, "")
    .replace(/(-\d{5}-of-\d{5})?\.gguf$/i, "");
  const id = [nickname, modelName]
    .map(slug)
    .filter((part) => part !== "")
    .join("-");
  const short = id.slice(0, 90).replace(/[^a-z0-9]+$/, "");
  return participantIdProblem(short) === undefined ? short : `participant-${short}`.slice(0, 100);
}

/**
 * The id; when it is in use, the id with this machine's name appended, which stays the same after a restart; else the first
 * free of `id-2`, `id-3`, …. Otherwise two programs at one address would take the id from each other, since the same
 * address counts as proof of ownership (contract §3).
 */
export function freeId(id: string, hostName: string, connected: ReadonlySet<string>): string {
  if (!connected.has(id)) return id;
  const machine = slug(hostName.replace(/\..*$/, ""))
    .slice(0, 20)
    .replace(/[^a-z0-9]+$/, "");
  const withMachine = `${id.slice(0, 75)}-${machine}`;
  if (machine !== "" && !connected.has(withMachine)) return withMachine;
  let candidate = id;
  for (let number = 2; connected.has(candidate); number++) candidate = `${id}-${number}`;
  return candidate;
}

/** The ids of participants that are connected, or about to be again. */
export function connectedIds(participants: readonly ParticipantSummary[]): Set<string> {
  return new Set(
    participants
      .filter(({ connection }) => connection.connected || connection.resuming !== undefined)
      .map((entry) => entry.id),
  );
}

function slug(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9._]+/g, "-")
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, "");
}
