import type { History } from "../history.ts";
import { ofLoad } from "./service.ts";

/** Well below `resumeMs`. */
const mostMs = 15_000;

/** A tunnel that was cut for a while goes on, and with it each request that ran over it. Contract §4. */
export function tunnelsGoOn({ plan, outcomes }: History): string[] {
  const [fault, ...further] = plan.faults;
  if (fault === undefined || further.length > 0) return [];
  const agents = new Set(plan.agents.map(({ name }) => name));
  const isOfTunnel =
    (fault.kind === "cut" && plan.hubs.includes(fault.one) && agents.has(fault.other)) ||
    (fault.kind === "freeze" && agents.has(fault.machine));
  if (!isOfTunnel || fault.forMs > mostMs) return [];
  return outcomes
    .filter(({ end, code }) => end !== "complete" && end !== "left" && !ofLoad.has(code ?? ""))
    .map(({ tag, end, code }) => `${tag} ended with ${code ?? end} over a tunnel that was cut`);
}
