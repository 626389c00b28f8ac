import type { Invite } from "@roomhub/client";
import { isLoopbackHost } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { UsageError } from "../exit-code.ts";
import { isWildcard } from "../rooms/hub-address.ts";

/** The next step where an address or port cannot be used. */
export const otherAddress = "choose another address or port: --host 127.0.0.1 --port 0";

/**
 * What a command serves of a closed room is for this machine, unless its user says otherwise.
 *
 * @throws UsageError
 */
export async function refusePublic(
  context: CliContext,
  { hubUrl, room }: Invite,
  { host = "127.0.0.1", public: isPublic = false }: { host?: string; public?: boolean },
): Promise<void> {
  if (isPublic || (isLoopbackHost(host) && !isWildcard(host))) return;
  const { closed } = await context.createClient(hubUrl).getRoom(room);
  if (closed !== true) return;
  throw new UsageError(
    `Room ${room} is closed, and ${host} is for others, too. Leave out --host, or pass --public`,
  );
}
