import { expect, test, vi } from "vitest";
import type { CliContext } from "../context.ts";
import type { RunningRequest } from "@roomhub/participant";
import type { RunningParticipant } from "../capabilities.ts";
import { Screen } from "../snapshots/screen.fixture.ts";
import { colorsFor } from "../terminal/text.ts";
import { capture, makeWorld } from "../test-context.fixture.ts";
import { runningLines, showRunning } from "./running-now.ts";

function request(over: Partial<RunningRequest> = {}): RunningRequest {
  return {
    path: "/chat/completions",
    model: "llama3.2:3b",
    client: { kind: "name", id: "alice" },
    runsMs: 12_900,
    outputTokens: 340,
    ...over,
  };
}

const plain = colorsFor({ env: {} }, capture());

test("a line has name, model, seconds and tokens, as far as they are known", () => {
  const unnamed = request({ client: undefined, runsMs: 999, outputTokens: undefined });
  const late = request({ client: { kind: "key", id: "5f0c1a2b" }, outputTokens: 1, model: "千问" });
  expect(runningLines([request(), late, unnamed], 80, plain)).toEqual([
    "now  alice         llama3.2:3b  12 s  ≈340 tokens",
    "now  key:5f0c1a2b  千问         12 s  ≈1 token",
    "now  -             llama3.2:3b   0 s",
  ]);
  expect(runningLines([], 80, plain)).toEqual([]);
});

test("more requests than lines are counted, and a line never wraps or controls the terminal", () => {
  const five = Array.from({ length: 6 }, () => request({ model: "\u001b[2Jevil" }));
  const lines = runningLines(five, 24, plain);
  expect(lines).toHaveLength(5);
  expect(lines[0]).toBe("now  alice  \ufffd[2Jevil  …");
  expect(lines.at(-1)).toBe("now  and 2 more");
});

test("below what is written, the lines follow what runs, and leave nothing behind", async () => {
  const screen = new Screen(60);
  let running: RunningRequest[] = [];
  const participants = [{ running: () => running }] as RunningParticipant[];
  const { context } = makeWorld({
    stderr: screen as unknown as CliContext["stderr"],
    env: { NO_COLOR: "1" },
  });
  const display = showRunning(context, participants);
  display.terminal.write("connected\n");
  running = [request({ runsMs: 1_000 }), request({ outputTokens: undefined })];
  display.start();
  const two = "now  alice  llama3.2:3b  12 s\nnow  alice  llama3.2:3b   1 s  ≈340 tokens\n";
  await vi.waitFor(() => expect(screen.shown).toBe(`connected\n${two}`));
  display.leave();
  expect(screen.shown).toBe("connected\n\n");
  display.enter();
  display.terminal.write("a row\nanother\n");
  expect(screen.shown).toBe(`connected\na row\nanother\n${two}`);
  running = [request({ runsMs: 2_000, outputTokens: undefined })];
  const one = "now  alice  llama3.2:3b  2 s\n";
  await vi.waitFor(() => expect(screen.shown).toContain(one));
  running = [];
  await vi.waitFor(() => expect(screen.shown).toBe("connected\na row\nanother\n\n"));
  display.close();
  expect(screen.shown).toBe("connected\na row\nanother\n\n");
});
