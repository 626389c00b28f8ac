import { expect, test } from "vitest";
import { Keyboard, noKeys, Screen } from "../snapshots/screen.fixture.ts";
import { readMessage, type Typed } from "./message-input.ts";
import type { TerminalKeys } from "./keyboard.ts";

/** A prompt on a screen of 40 columns; `done` is undefined until the message is complete. */
function aPrompt(history: readonly string[] = [], keys: TerminalKeys = noKeys) {
  const [keyboard, screen, leaving] = [new Keyboard(), new Screen(40), new AbortController()];
  const it = { keyboard, screen, leaving, done: undefined as Typed | undefined };
  const terminal = { input: keyboard, output: screen, keys };
  void readMessage(terminal, history, leaving.signal).then((typed) => (it.done = typed));
  return it;
}

const paste = (text: string) => `\u001b[200~${text}\u001b[201~`;

test("Enter ends a message, and the terminal is given back", async () => {
  const it = aPrompt();
  expect(it.keyboard.isRaw).toBe(true);
  for (const key of ["Grüße", " 你好 ", "Enter"]) await it.keyboard.press(key);
  expect(it.done).toEqual({ kind: "message", text: "Grüße 你好" });
  expect(it.screen.shown).toBe("> Grüße 你好\n");
  expect([it.keyboard.isRaw, it.keyboard.isPaused()]).toEqual([false, true]);
});

test("a line that ends with a backslash goes on in the next one", async () => {
  const it = aPrompt();
  for (const key of ["one\\", "Enter", "two", "Enter"]) await it.keyboard.press(key);
  expect(it.done).toEqual({ kind: "message", text: "one\ntwo" });
  expect(it.screen.shown).toBe("> one\\\n… two\n");
});

test("pasted lines are one message, which can be edited, and no key is pressed by what is pasted", async () => {
  const it = aPrompt();
  for (const key of ["see: ", paste("a\r\n\tb\u0003\u001b[A\nc\r"), "!"])
    await it.keyboard.press(key);
  expect(it.done).toBeUndefined();
  await it.keyboard.press("Enter");
  expect(it.done).toEqual({ kind: "message", text: "see: a\n\tb[A\nc\n!" });
});

test("a paste that comes in pieces, cut anywhere, is one message", async () => {
  const bytes = Buffer.from(paste("ü\nz"));
  for (let cut = 3; cut < bytes.length; cut++) {
    const it = aPrompt();
    for (const part of [bytes.subarray(0, cut), bytes.subarray(cut)]) {
      it.keyboard.write(part);
      await it.keyboard.press("");
    }
    await it.keyboard.press("Enter");
    expect(it.done, `cut at ${cut}`).toEqual({ kind: "message", text: "ü\nz" });
  }
});

test("lines that a terminal sends at once, without marking them as pasted, are one message", async () => {
  const it = aPrompt();
  await it.keyboard.press("a\rb\r");
  expect(it.done).toEqual({ kind: "message", text: "a\nb" });
});

test("the arrow keys bring earlier messages back, with their lines", async () => {
  const it = aPrompt(["last\nof two", "first"]);
  for (const key of ["↑", "↑", "↓"]) await it.keyboard.press(key);
  expect(it.screen.shown).toBe("> last⏎of two\n");
  await it.keyboard.press("Enter");
  expect(it.done).toEqual({ kind: "message", text: "last\nof two" });
});

test("an arrow key whose bytes come one by one is no text", async () => {
  const it = aPrompt(["first"]);
  for (const key of ["\u001b", "[", "A", "Enter"]) await it.keyboard.press(key);
  expect(it.done).toEqual({ kind: "message", text: "first" });
});

test("Ctrl+C clears what was typed, and says whether there was anything", async () => {
  for (const [typed, wasEmpty] of [
    [[], true],
    [["draft"], false],
    [["one\\", "Enter"], false],
  ] as const) {
    const it = aPrompt();
    for (const key of [...typed, "Ctrl+C"]) await it.keyboard.press(key);
    expect(it.done).toEqual({ kind: "interrupted", wasEmpty });
    expect(it.screen.shown.endsWith("\n")).toBe(true);
  }
});

test("Ctrl+D at an empty prompt, the end of the input and the signal end it", async () => {
  const [byKey, byEnd, bySignal] = [aPrompt(), aPrompt(), aPrompt()];
  await byKey.keyboard.press("x");
  await byKey.keyboard.press("Ctrl+D");
  expect(byKey.done).toBeUndefined();
  await byKey.keyboard.press("\u007f");
  await byKey.keyboard.press("Ctrl+D");
  byEnd.keyboard.end();
  bySignal.leaving.abort();
  await bySignal.keyboard.press("");
  for (const { done, keyboard } of [byKey, byEnd, bySignal]) {
    expect([done, keyboard.isRaw]).toEqual([{ kind: "ended" }, false]);
  }
});

test("Ctrl+Z gives the terminal back until the program runs again, with the line as it was", async () => {
  const resumed = Promise.withResolvers<void>();
  const it = aPrompt([], { ...noKeys, suspend: () => resumed.promise });
  for (const key of ["draft", "Ctrl+Z"]) await it.keyboard.press(key);
  expect([it.keyboard.isRaw, it.keyboard.isPaused()]).toEqual([false, true]);
  resumed.resolve();
  for (const key of ["", "!", "Enter"]) await it.keyboard.press(key);
  expect(it.done).toEqual({ kind: "message", text: "draft!" });
});

test("a long paste is taken at once", async () => {
  const it = aPrompt();
  const text = "0123456789 ".repeat(3_000);
  const startMs = performance.now();
  await it.keyboard.press(paste(text));
  await it.keyboard.press("Enter");
  expect(it.done).toEqual({ kind: "message", text: text.trimEnd() });
  expect(performance.now() - startMs).toBeLessThan(2_000);
});
