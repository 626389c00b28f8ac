import { must } from "../figure.ts";
import type { Scenario } from "../scenario.ts";

export const providerFrozen: Scenario = {
  id: "F4",
  title: "requests of a frozen provider run into their deadline, and no other request is affected",
  needs: ["proc"],
  isQuick: false,
  async run(world) {
    await world.open({ env: { ROOMHUB_FIRST_BYTE_MS: "3000", ROOMHUB_STREAM_IDLE_MS: "3000" } });
    const begun = await world.start({
      tag: "begun",
      behaviour: { kind: "normal", words: 400, chunkDelayMs: 25 },
    });
    await world.clients.call("reached", { tag: begun, pieces: 10 });
    world.provider.program.signal("SIGSTOP");
    const tags = await world.startAll([
      { tag: "plain", stream: false },
      { tag: "stream", surface: "responses" },
    ]);
    const told = new Map(
      (await world.outcomes([begun, ...tags])).map(({ tag, code }) => [tag, code]),
    );
    must(told.get("begun") === "stream_idle_timeout", `in the middle: ${told.get("begun")}`);
    must(told.get("plain") === "provider_timeout", `plain: ${told.get("plain")}`);
    must(told.get("stream") === "provider_timeout", `stream: ${told.get("stream")}`);
    must((await world.listed("p1")).status !== "offline", "its participant went offline");
    world.provider.program.signal("SIGCONT");
    const after = await world.outcome(await world.start({ tag: "after" }));
    must(after.end === "complete", `afterwards: ${after.end} ${after.code}`);
  },
};
