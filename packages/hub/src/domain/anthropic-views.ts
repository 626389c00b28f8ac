import type { AnthropicModel, AnthropicModelList } from "@roomhub/protocol";
import type { Alias } from "./aliases/alias-table.ts";
import type { Participant } from "./participant.ts";
import type { Room } from "./room.ts";
import { onlineReadyFirst } from "./views.ts";

/**
 * The participants as in the models list, then the aliases, the oldest first. Contract §4, "Models list".
 *
 * Clients of Anthropic's list only names that begin with `claude` or `anthropic`, which a room has as aliases.
 */
export function anthropicModels(room: Room, nowMs: number): AnthropicModelList {
  const data = [
    ...onlineReadyFirst(room, nowMs).map(anthropicModel),
    ...room.aliases.list.map(anthropicAlias),
  ];
  const first_id = data[0]?.id ?? null;
  return { data, has_more: false, first_id, last_id: data.at(-1)?.id ?? null };
}

export function anthropicModel({ id, nickname, model, joinedAt }: Participant): AnthropicModel {
  return entry(id, `${nickname} (${model})`, joinedAt);
}

function anthropicAlias({ pattern, targets, createdAt }: Alias): AnthropicModel {
  return entry(pattern, `${pattern} → ${targets.join(", ")}`, createdAt);
}

/** @param createdAt - epoch ms */
function entry(id: string, display_name: string, createdAt: number): AnthropicModel {
  return { type: "model", id, display_name, created_at: new Date(createdAt).toISOString() };
}
