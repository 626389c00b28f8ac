import { until } from "../../support/waiting.ts";
import { inMs, must, percentile, withoutResuming } from "../figure.ts";
import type { Scenario } from "../scenario.ts";
import { sharedNowMs } from "../shared-clock.ts";

export const killedBeforeFirstByte: Scenario = {
  id: "F2",
  title: "a participant killed before its first byte costs no response when another has the model",
  needs: ["proc"],
  isQuick: true,
  async run(world) {
    await world.open({ hasLoad: false, env: withoutResuming });
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
    let sent = 0;
    let answered = 0;
    for (let round = 0; round < rounds; round++) {
      // The first in join order is called first; a killed and returned one keeps its place.
      const wishes = Array.from({ length: 10 }, (_, index) => ({
        tag: `model-${round}-${index}`,
        ...{ model: "model:fake-model", stream: index % 2 === 0 },
      }));
      const named = { tag: `named-${round}`, model: "p1" };
      world.provider.program.signal("SIGSTOP");
      const tags = await world.startAll([...wishes, named]);
      await until(
        "p1 to have all of them",
        () =>
          world.events.of("llm.request").filter(({ data }) => data["participantId"] === "p1")
            .length,
        (count) => count === tags.length * (round + 1),
      );
      const killedMs = sharedNowMs();
      world.participants[round]?.signal("SIGKILL");
      for (const outcome of await world.outcomes(tags)) {
        if (outcome.tag === named.tag) {
          must(outcome.code === "tunnel_lost", `the named one was told ${outcome.code}`);
          must(outcome.attempts === 1, `the named one took ${outcome.attempts} attempts`);
          continue;
        }
        sent++;
        if (outcome.end !== "complete") continue;
        answered++;
        must(outcome.participantId === "p2", `${outcome.tag} came from ${outcome.participantId}`);
        must(outcome.attempts === 2, `${outcome.tag} took ${outcome.attempts} attempts`);
        addedMs.push((outcome.firstPieceMs ?? outcome.endedMs) - killedMs);
      }
      world.provider.program.signal("SIGCONT");
      if (round + 1 === rounds) break;
      world.participants.push(await world.addParticipant("p1", world.provider.url));
    }
    const worstMs = percentile(addedMs, 1);
    world.fact(
      `kill -9 before the first byte, a second has the model: complete, of ${sent}`,
      ...(["100 %", `${(100 * answered) / sent} %`, answered === sent] as const),
    );
    world.figure("… added by it, longest", "≤ 150 ms", inMs(worstMs), worstMs <= 150);
  },
};
