import type { JsonMember } from "../json/json-scan.ts";

/** A longer run of base64's characters is no text in any language. */
const leastEncodedBytes = 512;
const quote = 0x22;
const backslash = 0x5c;
const dataUrl = Buffer.from('"data:');
const isEncoding = new Uint8Array(256);
for (const byte of Buffer.from(
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_\\",
)) {
  isEncoding[byte] = 1;
}

/**
 * How long the text of a prompt is: without `data:` URLs and base64, whose bytes say nothing about tokens.
 *
 * @param prompt - the member of the request's body that has it
 */
export function textBytesOf(
  chunks: readonly Buffer[],
  prompt: Pick<JsonMember, "start" | "end">,
): number {
  let text = 0;
  let run = 0;
  let matched = 0;
  let isInUrl = false;
  let isEscaped = false;
  const endRun = (): void => {
    if (run >= leastEncodedBytes) text -= run;
    run = 0;
  };
  let offset = 0;
  for (const chunk of chunks) {
    const to = Math.min(chunk.length, prompt.end - offset);
    for (let index = Math.max(0, prompt.start - offset); index < to; index++) {
      const byte = chunk[index] ?? 0;
      if (isInUrl) {
        if (byte === quote && !isEscaped) isInUrl = false;
        isEscaped = byte === backslash && !isEscaped;
        continue;
      }
      text++;
      if (isEncoding[byte] === 1) run++;
      else endRun();
      matched = byte === dataUrl[matched] ? matched + 1 : byte === quote ? 1 : 0;
      if (matched < dataUrl.length) continue;
      isInUrl = true;
      isEscaped = false;
      [matched, run] = [0, 0];
    }
    offset += chunk.length;
  }
  endRun();
  return text;
}
