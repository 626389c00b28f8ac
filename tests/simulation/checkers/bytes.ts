import { promptOf, textOf } from "../actors/scripted-server.ts";
import type { History } from "../history.ts";

/** A client has what the model server generated: all of it, or its beginning where the response ended early. */
export function bytesAreTheServers({ plan, outcomes, agents }: History): string[] {
  const generations = agents.flatMap(({ server }) => server.generations);
  return outcomes.flatMap((outcome) => {
    const { tag, text, end } = outcome;
    // What it has is judged with the bad responses.
    if (generations.some((one) => one.tag === tag && one.end === "bad")) return [];
    const planned = plan.requests.find((request) => request.tag === tag)!;
    const whole = textOf(planned);
    if (end === "complete" && text !== whole)
      return [`${tag} is complete and has ${text.length} of ${whole.length} characters`];
    if (!whole.startsWith(text))
      return [`${tag} has text that its model server did not send: ${text.slice(0, 80)}`];
    if (
      end === "complete" &&
      !generations.some((one) => one.tag === tag && one.end === "complete")
    ) {
      return [`${tag} is complete, and no model server completed it`];
    }
    return [];
  });
}

/** A model server has the text of the request as its client sent it. Contract §4. */
export function promptsAreTheClients({ plan, agents }: History): string[] {
  const generations = agents.flatMap(({ server }) => server.generations);
  return plan.requests.flatMap((planned) => {
    const whole = promptOf(planned, planned.promptBytes);
    return generations
      .filter(({ tag, prompt }) => tag === planned.tag && prompt !== whole)
      .map(
        ({ tag, server, prompt }) =>
          `${tag} at ${server} is not what its client sent: ${prompt.length} characters, of ${whole.length}`,
      );
  });
}
