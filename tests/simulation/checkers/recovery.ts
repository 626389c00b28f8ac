import type { History } from "../history.ts";

/** Once nothing is broken anymore, every participant serves again at every hub, and nothing is left running. */
export function everythingRecovered({ hubs, agents, listings }: History): string[] {
  return hubs.flatMap(({ machine }, index) => {
    const listed = listings[index];
    if (listed === undefined) return [`${machine.name} does not list its room`];
    return agents.flatMap(({ id, server }) => {
      const participant = listed.find((one) => one.id === id);
      if (participant === undefined) return [`${id} is not in the room at ${machine.name}`];
      const { connection, load } = participant;
      const { active, queued } = load;
      const running = server.generations.filter(({ end }) => end === "running").length;
      return [
        // Refused credentials are tried again by the next request only.
        ...(connection.connected && ["ready", "needs-credentials"].includes(connection.readiness)
          ? []
          : [`${id} is ${connection.readiness} at ${machine.name}: ${connection.problem ?? ""}`]),
        ...(active === 0 && queued === 0
          ? []
          : [`${id} has ${active} running and ${queued} waiting at ${machine.name}`]),
        ...(running === 0 ? [] : [`${id} still generates ${running}`]),
      ];
    });
  });
}

/** Once everything has recovered, each hub serves a request. */
export function everyHubServes({ lateOutcomes }: History): string[] {
  return (
    lateOutcomes
      // The request by which credentials that were refused are tried again.
      .filter(({ outcome }) => outcome.code !== "provider_auth_failed")
      .filter(({ outcome }) => outcome.code !== "budget_exhausted")
      .filter(({ outcome }) => outcome.end !== "complete")
      .map(({ hub, outcome }) => `a request at ${hub} is ${outcome.end}: ${outcome.code ?? ""}`)
  );
}
