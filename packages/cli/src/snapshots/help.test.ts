import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { displayWidth } from "../terminal/display-width.ts";
import { createProgram } from "../program.ts";
import { makeWorld } from "../test-context.fixture.ts";
import { atTerminal, inPipe } from "./session.fixture.ts";

/** The words that lead to each command, and to each family of them. */
function pathsOf(command: Command, parents: readonly string[] = []): string[][] {
  return command.commands.flatMap((child) => {
    const path = [...parents, child.name()];
    return [path, ...pathsOf(child, path)];
  });
}

const paths = [[], ...pathsOf(await createProgram(makeWorld().context))];

describe.each(paths.map((path) => [["roomhub", ...path].join(" "), path] as const))(
  "%s --help",
  (name, path) => {
    const args = [...path, "--help"];

    test("describes the command and its options", async () => {
      expect(await atTerminal(args)).toMatchSnapshot();
    });

    test("is the same in a pipe", async () => {
      const [, ...lines] = (await atTerminal(args)).trim().split("\n");
      const [, , , ...piped] = (await inPipe(args)).trim().split("\n");
      expect(piped).toEqual(lines);
    });

    test("has an example that begins with it", async () => {
      const [, examples = ""] = (await atTerminal(args)).split("\nExample:\n");
      expect(examples).toMatch(/^ {2}\$ /);
      expect(examples).toContain(name);
    });

    test("fits on a terminal of 80 columns", async () => {
      for (const line of (await atTerminal(args)).split("\n").slice(2)) {
        expect(displayWidth(line)).toBeLessThanOrEqual(80);
      }
    });
  },
);

test.each(["up", "serve"])("%s --help-all lists the rare options too", async (name) => {
  const [usual, all] = await Promise.all(
    ["--help", "--help-all"].map((flag) => atTerminal([name, flag])),
  );
  expect(all).toMatchSnapshot();
  expect(usual).not.toContain("--no-stream-usage");
  expect(usual?.split("\n").length).toBeLessThan(60);
});

test("on a narrow terminal help is broken into shorter lines", async () => {
  expect(await atTerminal(["room", "create", "--help"], {}, 50)).toMatchSnapshot();
});

test("help is the same word as --help", async () => {
  const [, ...lines] = (await atTerminal(["help", "env"])).trim().split("\n");
  const [, ...same] = (await atTerminal(["env", "--help"])).trim().split("\n");
  expect(lines).toEqual(same);
});

test("roomhub alone shows the help, as a failure", async () => {
  const [heading, ...lines] = (await atTerminal([])).trim().split("\n");
  const [, ...help] = (await atTerminal(["--help"])).trim().split("\n");
  expect(heading).toContain("exit 2");
  expect(lines).toEqual(help);
});
