import { checkEndpoint, serverRoot, urlBelow } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";

const timeoutMs = 1_500;

/**
 * What a llama-server reports about its slots, such as `2 slots, 1 busy`; undefined for every other server.
 *
 * A sleeping server is not queried for busy slots, since that would load its model.
 */
export async function slotsText(
  context: CliContext,
  endpoint: string,
  headers: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const check = checkEndpoint(endpoint);
  if (!check.ok) return undefined;
  const root = serverRoot(check.baseUrl);
  const props = await getJson(context, urlBelow(root, "/props"), headers);
  const slots = (props as { total_slots?: unknown } | undefined)?.total_slots;
  if (!Number.isInteger(slots)) return undefined;
  const { endpoint_slots: hasList, is_sleeping: isAsleep } = props as Record<string, unknown>;
  const all = `${String(slots)} ${slots === 1 ? "slot" : "slots"}`;
  if (isAsleep === true) return `${all}, sleeping`;
  const list =
    hasList === true ? await getJson(context, urlBelow(root, "/slots"), headers) : undefined;
  if (!Array.isArray(list)) return all;
  const busy = list.filter((slot: { is_processing?: unknown } | null) => {
    return slot?.is_processing === true;
  });
  return `${all}, ${busy.length} busy`;
}

/** @returns undefined when there is no JSON response */
async function getJson(
  { fetch }: CliContext,
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<unknown> {
  try {
    const response = await fetch(url, {
      headers: { accept: "application/json", ...headers },
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    return response.ok ? await response.json() : undefined;
  } catch {
    // Not a llama-server, so there are no slots to show.
    return undefined;
  }
}
