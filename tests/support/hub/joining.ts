import { createParticipant, type Participant, type ParticipantOptions } from "@roomhub/participant";
import type { JoinRequest, JoinResponse } from "@roomhub/protocol";
import type { TestHub } from "./start-test-hub.ts";

/** How requests reach a participant. */
export const PATHS = ["tunnel", "direct"] as const;
export type Path = (typeof PATHS)[number];

/** A participant in a room, over either path. */
export interface Joined extends AsyncDisposable {
  readonly id: string;
}

type Wishes = { endpoint: string } & Partial<Omit<JoinRequest, "endpoint">>;

/** A bare join, as curl would do it: the hub calls the endpoint itself. */
export async function joinDirect(
  hub: TestHub,
  code: string,
  wishes: Wishes,
): Promise<Joined & { answer: JoinResponse }> {
  const body = registration(wishes);
  const answer = await hub.client.join(code, body);
  return { id: body.id, answer, [Symbol.asyncDispose]: () => Promise.resolve() };
}

/** The real agent in this process, connected. */
export async function joinTunnel(
  hub: Pick<TestHub, "url">,
  code: string,
  wishes: Wishes &
    Pick<
      ParticipantOptions,
      | "budget"
      | "budgetFolder"
      | "followModel"
      | "headers"
      | "key"
      | "onNotice"
      | "timing"
      | "world"
    >,
): Promise<Joined & { agent: Participant }> {
  const body = registration(wishes);
  const agent = createParticipant({
    ...body,
    hubUrl: hub.url,
    room: code,
    specs: body.specs ?? undefined,
    config: body.config ?? undefined,
    password: body.password ?? undefined,
    capabilities: body.capabilities ?? undefined,
    authHeaders: body.authHeaders ?? undefined,
    timing: { drainMs: 0, ...wishes.timing },
    env: {},
  });
  await agent.start();
  return { id: body.id, agent, [Symbol.asyncDispose]: () => agent.close() };
}

export function join(path: Path, hub: TestHub, code: string, wishes: Wishes): Promise<Joined> {
  return path === "tunnel" ? joinTunnel(hub, code, wishes) : joinDirect(hub, code, wishes);
}

function registration(wishes: Wishes) {
  return { id: "ada", nickname: "Ada", model: "fake-model", ...wishes };
}
