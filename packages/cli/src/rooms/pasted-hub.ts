import { isForOthers, joinLine, pastedHub, type PastedHub } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { shellWord } from "../terminal/text.ts";

/** The hub at this URL in lines for others; one that does not respond is as it is named here, and hands out nothing. */
export async function pastedHubAt(context: CliContext, hubUrl: string): Promise<PastedHub> {
  try {
    const signal = AbortSignal.timeout(maxWaitMs);
    return pastedHub(hubUrl, await context.createClient(hubUrl).health({ signal }));
  } catch {
    // What it would say is left out; the command itself goes on.
    return pastedHub(hubUrl, {});
  }
}

const maxWaitMs = 3_000;

/** The line that shares a model: from another machine, or from this one where no other reaches the hub. */
export function shareLine({ commandName }: CliContext, hub: PastedHub, roomCode: string): string {
  return isForOthers(hub.hubUrl)
    ? joinLine(hub, roomCode)
    : `${commandName} join ${shellWord(`${hub.hubUrl}/rooms/${roomCode}`)}`;
}
