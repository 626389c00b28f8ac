import { until } from "../../support/waiting.ts";
import { inMs, must, percentile, pauseMs, withoutResuming } from "../figure.ts";
import type { Scenario } from "../scenario.ts";
import { sharedNowMs } from "../shared-clock.ts";

/** Does not end by itself before the kill. */
const talk = { kind: "normal", words: 2_000, chunkDelayMs: 25 } as const;

export const participantKilled: Scenario = {
  id: "F1",
  title: "a participant killed in mid-stream is an error frame at once and intact words before it",
  needs: ["proc"],
  isQuick: true,
  async run(world) {
    await world.open({ hasObservers: true, env: withoutResuming });
    const rounds = world.isQuick ? 1 : 5;
    const delaysMs: number[] = [];
    const listedMs: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const tags = await world.startAll([
        { tag: `chat-${round}`, behaviour: talk },
        { tag: `responses-${round}`, surface: "responses", behaviour: talk },
        { tag: `json-${round}`, stream: false, behaviour: { kind: "hang" } },
      ]);
      await world.clients.call("reached", { tag: `chat-${round}`, pieces: 10 });
      await world.clients.call("reached", { tag: `responses-${round}`, pieces: 10 });
      const killedMs = sharedNowMs();
      world.participants[round]?.signal("SIGKILL");
      for (const outcome of await world.outcomes(tags)) {
        must(outcome.end === "error", `${outcome.tag} ended ${outcome.end}`);
        must(outcome.code === "tunnel_lost", `${outcome.tag} was told ${outcome.code}`);
        delaysMs.push(outcome.endedMs - killedMs);
      }
      await until(
        "the participant to be disconnected in the listing",
        () => world.listed("p1"),
        ({ connection }) => !connection.connected,
      );
      listedMs.push(sharedNowMs() - killedMs);
      must((await world.listed("p1")).status === "online", "p1 went offline with its tunnel");
      if (round + 1 === rounds) break;
      world.participants.push(await world.addParticipant("p1", world.provider.url));
      await pauseMs(50);
    }
    const p99Ms = percentile(delaysMs, 0.99);
    world.figure(
      `kill -9 in mid-stream → the client's error, p99 of ${delaysMs.length}`,
      ...(["≤ 200 ms", inMs(p99Ms), p99Ms <= 200] as const),
    );
    const longestMs = percentile(listedMs, 1);
    world.figure(
      "… disconnected in the listing, longest",
      ...(["≤ 200 ms", inMs(longestMs), longestMs <= 200] as const),
    );
  },
};
