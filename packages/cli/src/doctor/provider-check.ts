import { checkEndpoint } from "@roomhub/protocol";
import { askModelServer, findModelServers, type ModelServer } from "../model-server.ts";
import { safe, shellWord } from "../text.ts";
import type { Check, Examination } from "./check.ts";
import { failed, type Finding, ok, skipped } from "./finding.ts";
import { isThisMachine } from "./port-check.ts";

/** It answered a moment ago, or nobody does. */
const refusalMs = 1_500;

/** Whether the model servers of this machine answer, and what they have: the one that is named must, the usual ones may. */
export const providerCheck: Check = {
  name: "provider",
  waitsFor: "model servers to answer",
  timeoutMs: 5_000,
  async look(exam, signal) {
    const { context, headers } = exam;
    const wanted = exam.endpoint === undefined ? endpointsHere(exam) : [exam.endpoint];
    const [named, usual] = await Promise.all([
      Promise.all(wanted.map((endpoint) => askModelServer(context, endpoint, headers))),
      exam.endpoint === undefined ? findModelServers(context) : [],
    ]);
    const silent = wanted.filter((_, index) => named[index] === undefined);
    const others = usual.filter(({ endpoint }) => !wanted.includes(endpoint));
    const servers = [...named.filter((one) => one !== undefined), ...others];
    const details = servers.map(describe);
    if (silent.length > 0) {
      const [first = ""] = silent;
      const status = await refusalOf(exam, first, signal);
      if (status !== undefined) return refused(exam, first, status);
      return failed(
        `no model server answers at ${silent.map(safe).join(", ")}`,
        `start it, then look whether it lists its models: curl ${shellWord(modelsUrl(first))}`,
        { details },
      );
    }
    if (servers.length === 0) {
      return skipped("no model server on this machine; none is needed to use a room");
    }
    const where = exam.endpoint === undefined ? " on this machine" : "";
    const answer = servers.length === 1 ? "one answers" : `${servers.length} answer`;
    return ok(answer + where, details);
  },
};

/** @returns the status when it answers that it wants other credentials */
async function refusalOf(
  { context, headers }: Examination,
  endpoint: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    const response = await context.fetch(modelsUrl(endpoint), {
      headers: { accept: "application/json", ...headers },
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(refusalMs)]),
    });
    await response.body?.cancel();
    return [401, 403].includes(response.status) ? response.status : undefined;
  } catch {
    // Nobody there, as the first question found.
    return undefined;
  }
}

function refused({ headers }: Examination, endpoint: string, status: number): Finding {
  const names = Object.keys(headers).map(safe).join(", ");
  return failed(
    `the model server at ${safe(endpoint)} answers ${status}: ${names === "" ? "it wants credentials" : `it does not take the ${names} it was given`}`,
    names === ""
      ? 'name the variable that has them: --header-env "Authorization=VARIABLE"'
      : "look at the value: for most servers it is the word Bearer, a space, and the key",
  );
}

function modelsUrl(endpoint: string): string {
  const check = checkEndpoint(endpoint);
  return `${check.ok ? check.baseUrl : endpoint}/models`;
}

/** What a hub of this machine dials itself is on this machine too. */
function endpointsHere({ hubUrl, participants = [] }: Examination): string[] {
  if (!isThisMachine(new URL(hubUrl).hostname)) return [];
  const dialled = participants
    .filter(({ connection }) => connection.path === "direct")
    .map(({ endpoint }) => endpoint)
    .filter((endpoint) => URL.canParse(endpoint) && isThisMachine(new URL(endpoint).hostname));
  return [...new Set(dialled)].slice(0, 8);
}

const listed = 5;

function describe({ name, endpoint, models }: ModelServer): string {
  const shown = models.slice(0, listed).map(safe).join(", ");
  const more = models.length > listed ? ` and ${models.length - listed} more` : "";
  return `${name ?? "model server"} at ${safe(endpoint)}: ${shown === "" ? "no model" : shown + more}`;
}
