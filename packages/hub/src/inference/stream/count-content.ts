import { GENERATED_CONTENT, type StreamMarker } from "@roomhub/protocol";

/** Content and the rest of its line: an event counts once, whatever kinds of content it has. */
function lineWith(marker: StreamMarker): RegExp {
  return new RegExp(`(?:${GENERATED_CONTENT[marker].source})[^\\r\\n]*`, "g");
}

const lines: Record<StreamMarker, RegExp> = {
  chat: lineWith("chat"),
  none: lineWith("none"),
  responses: lineWith("responses"),
  messages: lineWith("messages"),
};

/** How many of these events carry generated content: about one per token, at most model servers. Parses no JSON. */
export function countContentEvents(events: Buffer, marker: StreamMarker): number {
  const text = events.toString("latin1");
  const line = lines[marker];
  let count = 0;
  // The last test finds nothing, and so begins anew next time.
  while (line.test(text)) count++;
  return count;
}
