import { pause, type World } from "@roomhub/protocol";
import { chooseModels, type ModelChoice } from "../sharing/choose-models.ts";
import type { CliContext } from "../context.ts";
import type { RequestedModels } from "../sharing/find-servers.ts";
import {
  credentialsProblem,
  findModelServers,
  type FoundServer,
  serverText,
} from "../sharing/found-server.ts";
import { withKinds } from "../sharing/served-kind.ts";
import { clockTime, colorsFor, reasonOf, safe, writeJson } from "../terminal/text.ts";

/** Local servers respond within a millisecond, so frequent queries cost nothing. */
const queryAgainMs = 3_000;

export async function startDemo(
  world: World,
): Promise<{ choice: ModelChoice; close: () => Promise<void> }> {
  const { demoModel, startDemoProvider } = await import("./demo-provider.ts");
  const { endpoint, close } = await startDemoProvider(world);
  return { choice: { endpoint, model: demoModel, serverName: undefined, traits: {} }, close };
}

interface DemoReplacement {
  requested: RequestedModels;
  share: (choice: ModelChoice) => Promise<{ participantId: string }>;
  closeDemo: () => Promise<void>;
  values: { json?: boolean; quiet?: boolean };
}

/** Shares a real model as soon as one is available, then removes the demo. */
export function replaceDemo(
  context: CliContext,
  { requested, share, closeDemo, values }: DemoReplacement,
  stopping: AbortSignal,
): { stop: () => Promise<void> } {
  const own = new AbortController();
  const signal = AbortSignal.any([stopping, own.signal]);
  const colors = colorsFor(context, context.stderr);
  const say = (text: string) => {
    context.stderr.write(`${colors.dim(clockTime(context.world.wallMs()))}  ${text}\n`);
  };
  const replace = async () => {
    const choice = await awaitModelServer(
      context,
      requested,
      (text) => say(colors.yellow(text)),
      signal,
    );
    if (choice === undefined) return;
    const { participantId } = await share(choice);
    if (signal.aborted) return;
    await closeDemo();
    const { model, endpoint, serverName } = choice;
    const text = `sharing ${safe(model)} from ${safe(serverName ?? endpoint)} as ${safe(participantId)}; the demo was removed`;
    if (values.json === true) {
      writeJson(context.stdout, { participantId, model, endpoint, isDemo: false });
    } else if (values.quiet !== true) say(colors.green(text));
  };
  const done = replace().catch((error: unknown) => {
    // The demo keeps running, so the room stays as announced.
    say(colors.yellow(`the model server could not be shared: ${safe(reasonOf(error))}`));
  });
  return {
    stop() {
      own.abort();
      return done;
    },
  };
}

/**
 * Waits for a default model server of this machine to start, and reports each obstacle once: it is loading, or requires
 * credentials.
 *
 * @returns its first model; undefined when the signal aborts first
 */
async function awaitModelServer(
  context: CliContext,
  requested: RequestedModels,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<ModelChoice | undefined> {
  const reported = new Set<string>();
  for (;;) {
    await pause(context.world, queryAgainMs, signal);
    if (signal.aborted) return undefined;
    const found = await findModelServers(context, requested.headers);
    const servers = await withKinds(context, found, requested.headers);
    if (servers.some(({ models = [] }) => models.length > 0)) {
      const [choice] = await chooseModels(context, requested, servers, {
        canAsk: false,
        isQuiet: true,
      });
      return choice;
    }
    for (const server of servers) {
      const text = obstacle(server, requested.headers);
      if (text === undefined || reported.has(text)) continue;
      reported.add(text);
      say(text);
    }
  }
}

function obstacle(
  server: FoundServer,
  headers: Readonly<Record<string, string>>,
): string | undefined {
  switch (server.readiness) {
    case "loading":
      return `${serverText(server)} is loading its model`;
    case "needs-credentials": {
      const { problem, fix } = credentialsProblem(server, headers);
      return `${problem}; ${fix}`;
    }
    case "ready":
    case "down":
    case "wrong-model":
      return undefined;
  }
}
