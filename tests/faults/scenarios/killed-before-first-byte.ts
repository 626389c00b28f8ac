import { inMs, must, percentile, pauseMs, type Scenario } from "../scenario.ts";
import { sharedNowMs } from "../shared-clock.ts";

export const killedBeforeFirstByte: Scenario = {
  id: "F2",
  title:
    "a participant killed before its first byte costs nobody an answer when another has the model",
  needs: ["proc"],
  isQuick: true,
  async run(world) {
    await world.open({ hasLoad: false });
    const other = await world.addProvider();
    await world.addParticipant("p2", other.url);
    // The first request of a process compiles its code; that is not what is measured.
    const warming = Array.from({ length: 5 }, (_, index) => ({
      tag: `warm-${index}`,
      model: "p2",
    }));
    await world.outcomes(await world.startAll(warming));
    const rounds = world.isQuick ? 1 : 5;
    const addedMs: number[] = [];
    let asked = 0;
    let answered = 0;
    for (let round = 0; round < rounds; round++) {
      // The first in join order is asked first; a killed and returned one keeps its place.
      const wishes = Array.from({ length: 10 }, (_, index) => ({
        tag: `model-${round}-${index}`,
        ...{ model: "model:fake-model", stream: index % 2 === 0 },
        behaviour: { kind: "slow-head", delayMs: 500 } as const,
      }));
      const named = { tag: `named-${round}`, model: "p1", behaviour: { kind: "hang" } as const };
      const tags = await world.startAll([...wishes, named]);
      await pauseMs(200);
      const killedMs = sharedNowMs();
      world.participants[round]?.signal("SIGKILL");
      for (const outcome of await world.outcomes(tags)) {
        if (outcome.tag === named.tag) {
          must(outcome.code === "tunnel_lost", `the named one was told ${outcome.code}`);
          must(outcome.attempts === 1, `the named one took ${outcome.attempts} attempts`);
          continue;
        }
        asked++;
        if (outcome.end !== "complete") continue;
        answered++;
        must(outcome.participantId === "p2", `${outcome.tag} came from ${outcome.participantId}`);
        must(outcome.attempts === 2, `${outcome.tag} took ${outcome.attempts} attempts`);
        // What the second one needs by itself is not the hub's doing.
        addedMs.push((outcome.firstPieceMs ?? outcome.endedMs) - killedMs - 500);
      }
      world.participants.push(await world.addParticipant("p1", world.provider.url));
    }
    const worstMs = percentile(addedMs, 1);
    world.figure(
      `kill -9 before the first byte, a second has the model: answered, of ${asked}`,
      ...(["100 %", `${(100 * answered) / asked} %`, answered === asked] as const),
    );
    world.figure("… added by it, longest", "≤ 150 ms", inMs(worstMs), worstMs <= 150);
  },
};
