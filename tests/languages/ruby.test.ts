import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { runCommand } from "../support/programs/run-command.ts";
import { missingInRuby } from "../support/programs/ruby.ts";
import { openRoom } from "./room.ts";

/** @returns what the program printed */
async function run(name: string, ...args: string[]): Promise<unknown> {
  const source = readFileSync(new URL(`${name}.rb`, import.meta.url), "utf8");
  const { stdout, stderr } = await runCommand("ruby", ["-W0", "-e", source, ...args]);
  expect(stdout, stderr).not.toBe("");
  return JSON.parse(stdout);
}

/** A title that says why its tests are skipped. */
function titled(name: string, missing: string | undefined): string {
  return missing === undefined ? name : `${name} (skipped: ${missing})`;
}

const withoutRubyLlm = missingInRuby("ruby_llm");

describe.skipIf(withoutRubyLlm !== undefined)(titled("ruby_llm", withoutRubyLlm), () => {
  test("chats, streams, runs a tool, embeds, and has the hub's words for a wrong model", async () => {
    await using room = await openRoom();
    expect(await run("ruby_llm", room.baseUrl)).toEqual({
      chat: "to be",
      words: ["to", " be", " or", " not"],
      tool: "light rain in Oslo",
      message: "to be",
      vector: expect.arrayContaining([1.125]),
      refused: expect.stringContaining('has the id or serves the model "missing"'),
    });
  });
});

const withoutRubyOpenai = missingInRuby("openai");

describe.skipIf(withoutRubyOpenai !== undefined)(titled("ruby-openai", withoutRubyOpenai), () => {
  test("lists, chats and embeds, and is shown the base URL that it needs", async () => {
    await using room = await openRoom();
    expect(await run("ruby_openai", room.baseUrl)).toEqual({
      models: ["ada"],
      chat: "to be",
      vector: expect.arrayContaining([1.125]),
      refused: "model_not_found",
      mistaken: expect.stringContaining(
        `${room.baseUrl.replace(/v1$/, "")} for a program that adds v1 itself`,
      ),
    });
  });
});
