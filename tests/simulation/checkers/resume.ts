import type { Outcome } from "../actors/simulated-client.ts";
import type { History } from "../history.ts";
import { coursesOf } from "./ends.ts";
import { ofLoad } from "./service.ts";

/** Well below `resumeMs`. */
const mostMs = 15_000;

const mostAttempts = 3;

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

/**
 * Tunnels that were reset, or whose hub stops in order, cost no request: it resumes, or goes over the next one, three in
 * all. Contract §3.
 */
export function noTunnelIsLost(history: History): string[] {
  const { plan, outcomes } = history;
  const isHub = (name: string) => plan.hubs.includes(name);
  const isHarmless = plan.faults.every((fault) => {
    switch (fault.kind) {
      case "stop":
        return isHub(fault.machine) && plan.hubs.length > 1;
      case "reset":
      case "broken dials":
      case "slow network":
      case "clock":
      case "model server":
        return true;
      default:
        return false;
    }
  });
  if (!isHarmless) return [];
  const courses = coursesOf(history);
  const attemptsOf = ({ requestId = "" }: Outcome) => courses.get(requestId)?.attempts.length ?? 0;
  return outcomes
    .filter((outcome) => outcome.code === "tunnel_lost" && attemptsOf(outcome) < mostAttempts)
    .map(
      ({ tag }) => `${tag} lost its tunnel, although its agent and a hub were there all the time`,
    );
}
