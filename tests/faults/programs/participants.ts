/** Many participants in a process of their own: the same agent as `roomhub join`. */
import { createParticipant, type Participant } from "@roomhub/participant";
import { serveHarness, tellHarness } from "./rpc.ts";

export interface CrowdWish {
  hubUrl: string;
  room: string;
  endpoint: string;
  count: number;
  /** ids are this and a number */
  prefix: string;
  /** the same for all; `model-0`, `model-1`, … when left out */
  model?: string | undefined;
  maxConcurrency?: number | undefined;
}

const crowd: Participant[] = [];

const handlers = {
  /** Resolves when all of them are connected. */
  async join({ hubUrl, room, endpoint, count, prefix, model, maxConcurrency }: CrowdWish) {
    const joining = Array.from({ length: count }, (_, index) => {
      const participant = createParticipant({
        ...{ hubUrl, room, endpoint, id: `${prefix}${index}`, nickname: `${prefix}${index}` },
        model: model ?? `model-${index}`,
        config: maxConcurrency === undefined ? undefined : { maxConcurrency },
        timing: { drainMs: 0, providerCheckMs: 3_600_000 },
        env: {},
      });
      crowd.push(participant);
      void participant.stopped.then((reason) => tellHarness("stopped", reason));
      return participant;
    });
    // A hub on the same two cores must not be measured by how fast many agents can dial.
    for (let at = 0; at < joining.length; at += 50) {
      await Promise.all(joining.slice(at, at + 50).map((participant) => participant.start()));
    }
  },
  connected: () => crowd.filter(({ state }) => state === "connected").length,
  async leave() {
    await Promise.all(crowd.splice(0).map((participant) => participant.close({ drainMs: 0 })));
  },
};
export type ParticipantHandlers = typeof handlers;
serveHarness(handlers);
