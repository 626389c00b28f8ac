import { createInterface, type Interface } from "node:readline";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { TerminalKeys } from "./keyboard.ts";

/** What a person did at the prompt. */
export type Typed =
  | { kind: "message"; text: string }
  /** Ctrl+C; it clears what was typed */
  | { kind: "interrupted"; wasEmpty: boolean }
  /** Ctrl+D at an empty prompt, the end of the input, or the aborted signal */
  | { kind: "ended" };

export interface MessageTerminal {
  input: Readable & { setRawMode?: (isRaw: boolean) => unknown };
  output: Writable;
  keys: TerminalKeys;
}

/** Stands for a line break while a message is edited, since the editor knows one line. */
const lineBreak = "⏎";
const prompt = "> ";
const furtherPrompt = "… ";

/** xterm's bracketed paste mode: the terminal marks the beginning and the end of what is pasted. */
const pasteMode = { on: "\u001b[?2004h", off: "\u001b[?2004l" };

/**
 * Reads one message with the editor of Node's readline. Pasted lines, and lines that end with a backslash, are lines of the
 * same message.
 *
 * @param history - earlier messages, the last one first
 */
export function readMessage(
  { input, output, keys }: MessageTerminal,
  history: readonly string[],
  signal: AbortSignal,
): Promise<Typed> {
  const setRawMode = (isRaw: boolean) => void input.setRawMode?.(isRaw);
  const typed = Object.assign(new PassThrough(), { setRawMode });
  const editor = createInterface({
    ...{ input: typed, output, terminal: true, prompt, signal },
    history: history.map((text) => text.replaceAll("\n", lineBreak)),
    historySize: history.length + 1,
  });
  const onData = readTyping(editor, typed);
  const onEnd = () => editor.close();
  const lines: string[] = [];

  const take = () => {
    output.write(pasteMode.on);
    input.on("data", onData).once("end", onEnd).resume();
  };
  const release = () => {
    input.off("data", onData).off("end", onEnd).pause();
    output.write(pasteMode.off);
  };
  return new Promise<Typed>((resolve) => {
    let isDone = false;
    const settle = (done: Typed) => {
      if (!isDone && done.kind !== "message") output.write("\n");
      isDone = true;
      resolve(done);
    };
    editor.on("line", (line) => {
      const isContinued = line.endsWith("\\");
      lines.push(isContinued ? line.slice(0, -1) : line);
      if (!isContinued) return settle({ kind: "message", text: textOf(lines) });
      editor.setPrompt(furtherPrompt);
      editor.prompt();
    });
    const isEmpty = () => editor.line === "" && lines.length === 0;
    editor.on("SIGINT", () => settle({ kind: "interrupted", wasEmpty: isEmpty() }));
    editor.on("SIGTSTP", () => {
      release();
      setRawMode(false);
      void keys.suspend().then(() => {
        if (!keys.isInForeground()) return settle({ kind: "ended" });
        setRawMode(true);
        take();
        editor.prompt(true);
      });
    });
    editor.once("close", () => settle({ kind: "ended" }));
    take();
    editor.prompt();
  }).finally(() => {
    release();
    editor.close();
  });
}

function textOf(lines: readonly string[]): string {
  return lines.join("\n").replaceAll(lineBreak, "\n").trimEnd();
}

/* oxlint-disable no-control-regex -- what terminals send: ECMA-48 §5 */
/** Keys that are no text, such as arrows, begin with a control character. */
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;
const pasteMarker = /(\u001b\[20[01]~)/;
/** A marker that the next chunk may complete. */
const cutMarker = /\u001b\[2(?:0[01]?)?$/;
/** The same in a paste, which has no keys. */
const cutEnd = /\u001b(?:\[(?:2(?:0[01]?)?)?)?$/;
/** A key that the next chunk may complete, or the escape key. */
const cutKey = /\u001b(?:O|\[[\d;]*)?$/;
/* oxlint-enable no-control-regex */

/**
 * Writes text into the line at once, since each key costs the time to measure the line; the editor gets other keys.
 *
 * @param keys - where the editor reads keys
 * @returns takes the terminal's bytes
 */
function readTyping(editor: Interface, keys: PassThrough): (chunk: Buffer | string) => void {
  const decoder = new StringDecoder();
  let held = "";
  let cutOff = "";
  let isPasting = false;

  const press = (text: string) => {
    cutOff = cutKey.exec(cutOff + text)?.[0] ?? "";
    keys.emit("data", Buffer.from(text));
  };
  const insert = (text: string) => {
    const line = text.replaceAll(/\r\n|\r|\n/g, lineBreak).replaceAll(controls, "");
    if (line !== "") editor.write(line);
  };
  const type = (text: string) => {
    if (cutOff !== "" || text.search(controls) !== -1) return press(text);
    // Terminals that do not mark a paste send it at once, and a line break at its end is the Enter key.
    const [, message = "", enter] = /^([^]*?)(\r\n?|\n)?$/.exec(text) ?? [];
    insert(message);
    if (enter !== undefined) press("\r");
  };
  return (chunk) => {
    const parts = (held + decoder.write(chunk)).split(pasteMarker);
    for (const [index, part] of parts.entries()) {
      if (pasteMarker.test(part)) {
        isPasting = part === "\u001b[200~";
        continue;
      }
      const isLast = index === parts.length - 1;
      held = (isLast && (isPasting ? cutEnd : cutMarker).exec(part)?.[0]) || "";
      const text = part.slice(0, part.length - held.length);
      if (isPasting) insert(text);
      else if (text !== "") type(text);
    }
  };
}
