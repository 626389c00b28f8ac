import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { withCommandName } from "./command-list.ts";
import { commandNameOf } from "./command-name.ts";
import { createProgram } from "./program.ts";
import { makeWorld } from "./test-context.fixture.ts";

const inCheckout = makeWorld({ commandName: "npx roomhub" }).context;

test.each([
  ["roomhub room list", "npx roomhub room list"],
  [
    "Ask, then: ROOMHUB_PASSWORD=… roomhub join A",
    "Ask, then: ROOMHUB_PASSWORD=… npx roomhub join A",
  ],
  [
    "Usage: roomhub [options]  (roomhub --help)",
    "Usage: npx roomhub [options]  (npx roomhub --help)",
  ],
])("in a checkout %s becomes what runs there", (text, expected) => {
  expect(withCommandName(inCheckout, text)).toBe(expected);
});

test.each(["npx roomhub join A", "a roomhub hub", "roomhub is not there", "my-roomhub.local"])(
  "%s stays as it is",
  (text) => {
    expect(withCommandName(inCheckout, text)).toBe(text);
  },
);

test("in a checkout every command gets the prefix", async () => {
  const { commands } = await createProgram(makeWorld().context);
  for (const name of commands.flatMap((command) => [command.name(), ...command.aliases()])) {
    expect(withCommandName(inCheckout, `roomhub ${name} A`)).toBe(`npx roomhub ${name} A`);
  }
});

test("an installed command changes nothing", () => {
  expect(withCommandName(makeWorld().context, "roomhub room list")).toBe("roomhub room list");
});

test("the command that npx got from a hub names where it came from", async () => {
  const cache = await mkdtemp(join(tmpdir(), "roomhub-name-"));
  const folder = join(cache, "_npx", "0a1b2c");
  const module = pathToFileURL(join(folder, "node_modules", "roomhub", "dist", "main.js")).href;
  await mkdir(folder, { recursive: true });
  try {
    expect(await commandNameOf(module)).toBe("roomhub");
    await writeFile(
      join(folder, "package.json"),
      '{"_npx":{"packages":["http://192.168.1.5:5050/roomhub.tgz"]}}',
    );
    expect(await commandNameOf(module)).toBe("npx -y http://192.168.1.5:5050/roomhub.tgz");
    await writeFile(join(folder, "package.json"), '{"_npx":{"packages":["http://a/$(id)"]}}');
    expect(await commandNameOf(module)).toBe("npx -y 'http://a/$(id)'");
  } finally {
    await rm(cache, { recursive: true });
  }
});

test.each([
  ["file:///usr/lib/node_modules/roomhub/dist/main.js", "roomhub"],
  ["file:///home/ana/roomhub/packages/cli/src/main.ts", "npx roomhub"],
])("the command of %s is %s", async (module, name) => {
  expect(await commandNameOf(module)).toBe(name);
});
