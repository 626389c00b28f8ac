import { RoomhubError } from "@roomhub/client";
import type { HubEntry } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import type { HubOptionValues, RoomhubCommand } from "../options.ts";
import { formatTable, safe, writeJson } from "../terminal/text.ts";

export function addHubsCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("hubs")
    .hubOptions()
    .examples("roomhub hubs --hub http://192.168.1.5:5050")
    .action((options: HubOptionValues) => showHubs(context, options));
}

async function showHubs(context: CliContext, options: HubOptionValues): Promise<void> {
  const hubs = await listHubs(context, options.hub);
  if (options.json === true) return writeJson(context.stdout, { hubs });
  const rows = hubs.map((hub) => [
    safe(hub.url),
    safe(hub.hubId),
    safe(hub.version),
    String(hub.participants),
    stateOf(hub),
  ]);
  context.stdout.write(formatTable(["hub", "id", "version", "participants", "link"], rows));
  for (const { warning } of hubs)
    if (warning !== undefined) context.stderr.write(`! ${safe(warning)}\n`);
}

/** @throws CommandError for a hub that is alone */
async function listHubs(context: CliContext, hubUrl: string): Promise<HubEntry[]> {
  try {
    return await context.createClient(hubUrl).listHubs();
  } catch (error) {
    if (!(error instanceof RoomhubError) || error.status !== 404) throw error;
    throw new CommandError(
      `The hub at ${hubUrl} is in no cluster`,
      "start hubs that share a NATS server: roomhub serve --nats URL",
      EXIT.notFound,
    );
  }
}

function stateOf({ link, problem, isDraining }: HubEntry): string {
  const state = link === "self" ? "this hub" : link;
  const reason = problem === undefined ? "" : `: ${safe(problem)}`;
  return `${state}${reason}${isDraining ? ", is stopping" : ""}`;
}
