import type { CliContext } from "../context.ts";
import type { ParticipantOptions } from "../services.ts";
import { safe } from "../terminal/text.ts";

/** Keeps the key that the owner's requests go first with, and prints how to use it. */
export async function keepClientKey(
  context: CliContext,
  { hubUrl, room, id }: Pick<ParticipantOptions, "hubUrl" | "room" | "id">,
  token: string,
  say: (text: string) => void,
): Promise<void> {
  say(
    `Your requests go first at ${safe(id)} with OPENAI_API_KEY=${safe(token)}; from this machine also without it, unless a proxy is in between`,
  );
  try {
    await (await context.clientKeys()).save({ hubUrl, room, id, token });
  } catch (error) {
    say(`! the key could not be kept: ${safe(error instanceof Error ? error.message : error)}`);
  }
}
