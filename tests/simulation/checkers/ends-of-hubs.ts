import type { History } from "../history.ts";
import { ofLoad } from "./service.ts";

/**
 * A hub that ends costs what ran at it, or over it, and nothing that is sent to another hub afterwards: that waits until the
 * room has its next home. Contract §6.
 */
export function otherHubsGoOn({ plan, outcomes }: History): string[] {
  const [end, ...further] = plan.faults;
  if (end === undefined || further.length > 0 || plan.hubs.length === 1) return [];
  if ((end.kind !== "kill" && end.kind !== "stop") || !plan.hubs.includes(end.machine)) return [];
  // What has not ended in order by then is killed.
  const killedMs = [...(end.kind === "kill" ? [end.atMs] : []), end.atMs + end.forMs];
  return outcomes.flatMap(({ tag, end: how, code, sentMs, endedMs = sentMs }) => {
    const planned = plan.requests.find((one) => one.tag === tag)!;
    const isElsewhere = plan.hubs[planned.hub] !== end.machine;
    const isHit = killedMs.some((ms) => sentMs <= ms && ms <= endedMs);
    if (!isElsewhere || isHit || how === "complete" || how === "left") return [];
    return code !== undefined && ofLoad.has(code)
      ? []
      : [`${tag} ended with ${code ?? how} though its hub did not`];
  });
}
