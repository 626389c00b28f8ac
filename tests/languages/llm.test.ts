import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingInPython, PythonProgram } from "../support/programs/python.ts";
import { openRoom } from "./room.ts";

const missing = missingInPython("llm");
const skipped = missing === undefined ? "" : ` (skipped: ${missing})`;

describe.skipIf(missing !== undefined)(`the command llm${skipped}`, () => {
  let python: PythonProgram;
  beforeAll(() => {
    python = new PythonProgram(new URL("llm.py", import.meta.url));
  });
  afterAll(() => python.close());

  test.each([
    ["a stream", []],
    ["a response that is no stream", ["--no-stream"]],
  ])("prints %s of a room's model", async (_what, options) => {
    await using room = await openRoom();
    const command = ["prompt", "--model", "room", "to be or not", ...options];
    const ended = await python.call("run", { base_url: room.baseUrl, command });
    expect(ended).toEqual({ exit_code: 0, output: "to be or not\n" });
  });

  test("gets JSON of a schema", async () => {
    await using room = await openRoom();
    const text = '{"city":"Oslo","day":"today"}';
    const command = ["prompt", "--model", "room", "--schema", "city, day", text];
    const ended = await python.call("run", { base_url: room.baseUrl, command });
    expect(ended).toEqual({ exit_code: 0, output: `${text}\n` });
    expect(JSON.stringify(room.provider.requests.at(-1)?.json)).toContain("json_schema");
  });

  test("runs a tool and continues with its result", async () => {
    await using room = await openRoom();
    const command = ["prompt", "--model", "room", "--functions", weather, "Oslo"];
    const ended = await python.call("run", { base_url: room.baseUrl, command });
    expect(ended).toEqual({ exit_code: 0, output: "light rain in Oslo\n" });
  });

  test("prints the hub's words for a model server that fails", async () => {
    await using room = await openRoom(() => ({ kind: "status", status: 400 }));
    const command = ["prompt", "--model", "room", "to be"];
    const ended = await python.call("run", { base_url: room.baseUrl, command });
    expect(ended).toEqual({ exit_code: 1, output: expect.stringContaining("scripted") });
  });
});

const weather = `def weather(city: str) -> str:
    return f"light rain in {city}"`;
