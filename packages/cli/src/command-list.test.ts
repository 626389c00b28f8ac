import { expect, test } from "vitest";
import { printHelp } from "./command-list.ts";
import { makeWorld } from "./test-context.fixture.ts";

test.each([80, 140])(
  "at %i columns, the help that loads no command is the program's",
  async (columns) => {
    const world = makeWorld({ commandName: "npx roomhub" });
    Object.assign(world.stdout, { columns });
    expect(await world.run("--help")).toBe(0);
    let printed = "";
    await printHelp({ columns, write: (text) => (printed += text) });
    expect(printed).toContain("To get started: npx roomhub up");
    expect(printed).toBe(world.stdout.text);
  },
);
