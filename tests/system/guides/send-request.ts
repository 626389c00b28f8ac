import { expect } from "vitest";
import type { GuideLab } from "../../support/documents/guide-lab.ts";

/** A program that sends `Hello!`, and prints the response. */
export async function runToItsEnd(block: string, lab: GuideLab): Promise<void> {
  await using program = lab.script(lab.here(block));
  await program.says(/Hello!/);
}

/** A program that keeps printing events: by default the type of each. */
export async function watchByScript(
  block: string,
  lab: GuideLab,
  prints = /^llm\.complete$/m,
): Promise<void> {
  await using program = lab.script(lab.here(block));
  await sees(program.says(prints), lab);
}

/** Sends requests until the awaited output: nothing signals when a program has begun to watch. */
export async function sees(seen: Promise<void>, lab: GuideLab): Promise<void> {
  const state = { isOver: false };
  const settled = seen.finally(() => {
    state.isOver = true;
  });
  const asking = (async () => {
    while (!state.isOver) await ask(lab);
  })();
  await Promise.all([settled, asking]);
}

export async function ask(lab: GuideLab, model = "llama3.2"): Promise<void> {
  const messages = [{ role: "user", content: "Hello!" }];
  const json = { model, messages };
  const answer = await lab.hub.fetch(`/rooms/${lab.code}/v1/chat/completions`, { json });
  expect(await answer.text()).toContain("Hello!");
}
