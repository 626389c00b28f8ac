/** Participants that join, move, rename themselves and leave at any hub of a cluster, as they are told. */
import { RoomhubClient, RoomhubError } from "@roomhub/client";
import { type HandAgent, openHandAgent } from "../../support/hub/hand-agent.ts";
import { serveHarness } from "./rpc.ts";

export interface Step {
  what: "join" | "rename" | "leave";
  hubUrl: string;
  room: string;
  id: string;
}

/** One tunnel of a participant, open or closed. */
export interface TunnelReport {
  id: string;
  hubUrl: string;
  closeCode: number | undefined;
  served: number;
}

interface Tunnel {
  id: string;
  hubUrl: string;
  agent: HandAgent;
  served: number;
}

const tokens = new Map<string, string>();
const tunnels: Tunnel[] = [];
let renames = 0;

const handlers = {
  /** @returns `ok`, or why it was refused */
  async step(step: Step): Promise<string> {
    const client = new RoomhubClient({ hubUrl: step.hubUrl, timeoutMs: 5_000 });
    try {
      await take(client, step);
      return "ok";
    } catch (error) {
      return error instanceof RoomhubError ? error.code : String(error);
    }
  },
  tunnels: (): TunnelReport[] =>
    tunnels.map(({ id, hubUrl, agent, served }) => {
      return { id, hubUrl, closeCode: agent.closeCode, served };
    }),
};
export type WandererHandlers = typeof handlers;

async function take(client: RoomhubClient, { what, room, id }: Step): Promise<void> {
  const token = tokens.get(id);
  switch (what) {
    case "join": {
      const wish = { id, nickname: id, model: `of-${id}`, endpoint: "http://127.0.0.1:9/v1" };
      const joined = await client.join(room, { ...wish, transport: "tunnel" }, { token });
      const known = joined.participantToken ?? token ?? "";
      tokens.set(id, known);
      const agent = await openHandAgent(joined.tunnel.url, known);
      tunnels.push({ id, hubUrl: client.hubUrl, agent, served: 0 });
      break;
    }
    case "rename":
      await client.updateParticipant(room, id, { nickname: `${id} ${++renames}` }, { token });
      break;
    case "leave":
      await client.leave(room, id, { token });
      // Its next join is another participant's.
      tokens.delete(id);
      break;
  }
}

setInterval(() => {
  for (const tunnel of tunnels) {
    for (const [tag, { responder }] of tunnel.agent.held) {
      tunnel.agent.held.delete(tag);
      tunnel.served += 1;
      responder.head({ status: 200, headers: { "content-type": "application/json" } });
      responder.write(Buffer.from(completion));
      responder.end();
    }
  }
}, 10);

const completion = JSON.stringify({
  ...{ id: "chatcmpl-1", object: "chat.completion", created: 0, model: "of-anyone" },
  choices: [{ index: 0, message: { role: "assistant", content: "here" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

serveHarness(handlers);
