import { readUsage, tokensPerSecond } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { cutTo } from "../terminal/display-width.ts";
import { colorsFor, countOf, duration, safe, safeLines } from "../terminal/text.ts";
import type { Answer, AnswerHead } from "./request-answer.ts";

/** Prints text as it streams in. Reasoning goes to a terminal's stderr only; each kind of text starts on a new line. */
export function createAnswerPrinter(context: CliContext, isSilent = false) {
  const { stdout, stderr } = context;
  const colors = colorsFor(context, stderr);
  let text = "";
  let last: "text" | "reasoning" = "text";
  let isLineOpen = false;
  const endLine = () => {
    if (isLineOpen) (last === "text" ? stdout : stderr).write("\n");
    isLineOpen = false;
  };
  const show = (kind: typeof last, part: string) => {
    if (isSilent || (kind === "reasoning" && !stderr.isTTY)) return;
    if (kind !== last) endLine();
    last = kind;
    isLineOpen = !part.endsWith("\n");
    if (kind === "text") stdout.write(safeLines(part));
    else stderr.write(colors.dim(safeLines(part)));
  };
  return {
    onText: (part: string) => {
      text += part;
      show("text", part);
    },
    onReasoning: (part: string) => show("reasoning", part),
    /** the answer so far, without reasoning */
    text: () => text,
    endLine,
  };
}

/** `— ana-llama3 (llama3), 80 tokens, 33.3 tokens/s, first token 340 ms`: who answered and how fast; unknown figures are left out. */
export function answerLine(answer: Answer, columns: number): string {
  const { usage, durationMs, ttftMs, isCut } = answer;
  const counts = readUsage(usage);
  const speed = tokensPerSecond(counts, durationMs);
  const parts = [
    whoAnswered(answer),
    isCut ? "cut off at its length limit" : undefined,
    counts.outputTokens === undefined ? undefined : countOf(counts.outputTokens, "token"),
    speed === undefined ? undefined : `${speed.toFixed(1)} tokens/s`,
    ttftMs === undefined ? undefined : `first token ${duration(ttftMs)}`,
  ];
  return cutTo(`— ${parts.filter((part) => part !== undefined).join(", ")}`, columns - 1);
}

/** `ana-llama3 (llama3)` */
export function whoAnswered({ participantId, model }: AnswerHead): string {
  return `${safe(participantId ?? "?")} (${safe(model ?? "?")})`;
}
