import { checkEndpoint } from "@roomhub/protocol";
import { askModelServer, findModelServers, type ModelServer } from "../model-server.ts";
import { safe, shellWord } from "../text.ts";
import type { Check, Examination } from "./check.ts";
import { failed, ok, skipped } from "./finding.ts";
import { isThisMachine } from "./port-check.ts";

/** Whether the model servers of this machine answer, and what they have: the one that is named must, the usual ones may. */
export const providerCheck: Check = {
  name: "provider",
  waitsFor: "model servers to answer",
  timeoutMs: 5_000,
  async look(exam) {
    const { context } = exam;
    const wanted = exam.endpoint === undefined ? endpointsHere(exam) : [exam.endpoint];
    const [named, usual] = await Promise.all([
      Promise.all(wanted.map((endpoint) => askModelServer(context, endpoint, {}))),
      exam.endpoint === undefined ? findModelServers(context) : [],
    ]);
    const silent = wanted.filter((_, index) => named[index] === undefined);
    const others = usual.filter(({ endpoint }) => !wanted.includes(endpoint));
    const servers = [...named.filter((one) => one !== undefined), ...others];
    const details = servers.map(describe);
    if (silent.length > 0) {
      const [first = ""] = silent;
      return failed(
        `no model server answers at ${silent.map(safe).join(", ")}`,
        `start it, then look whether it lists its models: curl ${modelsUrl(first)}`,
        { details },
      );
    }
    if (servers.length === 0) {
      return skipped("no model server on this machine; none is needed to use a room");
    }
    return ok(
      `${servers.length === 1 ? "one answers" : `${servers.length} answer`} on this machine`,
      details,
    );
  },
};

function modelsUrl(endpoint: string): string {
  const check = checkEndpoint(endpoint);
  return shellWord(`${check.ok ? check.baseUrl : endpoint}/models`);
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
