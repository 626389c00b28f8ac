import type { ParticipantSummary } from "@roomhub/protocol";
import { followRoom, roomSource } from "@roomhub/room-state";
import { until } from "../../support/waiting.ts";
import type { ClusterHub } from "./cluster-hub.ts";

/** What a watcher at each hub knows of the room's participants from its events, as the page that watches a room does. */
export class Followers implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #followed: { hub: ClusterHub; seen: string; running: Promise<void> }[] = [];
  readonly #code: string;

  constructor(hubs: readonly ClusterHub[], code: string) {
    this.#code = code;
    for (const hub of hubs) {
      const followed = { hub, seen: "", running: Promise.resolve() };
      followed.running = followRoom(roomSource(hub.api, code), {
        signal: this.#stop.signal,
        nowMs: Date.now,
        onChange({ participants }) {
          followed.seen = inWords([...participants.values()]);
        },
      });
      this.#followed.push(followed);
    }
  }

  /** Resolves when what each of them knows is what its hub lists. */
  async agreed(): Promise<void> {
    await until("watchers to know what their hubs list", () => this.#problems(), isEmpty);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#followed.map(({ running }) => running));
  }

  async #problems(): Promise<string[]> {
    const all = await Promise.all(
      this.#followed.map(async ({ hub, seen }) => {
        const listed = inWords(await hub.api.listParticipants(this.#code));
        return listed === seen ? [] : [`${hub.name} lists ${listed}; its watcher has ${seen}`];
      }),
    );
    return all.flat();
  }
}

function isEmpty(problems: readonly string[]): boolean {
  return problems.length === 0;
}

function inWords(participants: readonly ParticipantSummary[]): string {
  const words = participants.map(({ id, model, status, connection }) => {
    const { connected, readiness } = connection;
    return `${id} ${model} ${status} ${connected ? "connected" : "not connected"} ${readiness}`;
  });
  return words.toSorted().join(", ");
}
