import { RoomhubClient } from "@roomhub/client";
import { followRoom, initialState, roomSource, type RoomState } from "@roomhub/room-state";
import { colorsFor } from "../packages/cli/src/terminal/text.ts";
import { renderFrame } from "../packages/cli/src/watch/top/frame.ts";

export interface TopPictureOptions {
  columns: number;
  rows: number;
  watchedMs: number;
}

const charWidth = 7.25;
const lineHeight = 17;
const padding = 14;
/** Codes of https://ecma-international.org/publications-and-standards/standards/ecma-48/ §8.3.117 as classes. */
const classes: Record<string, string> = {
  ...{ 1: "b", 2: "d", 7: "b", 31: "r", 32: "g", 33: "y", 34: "l", 35: "l", 36: "l" },
};

/** A frame of `roomhub top` after it watched the room for a while, as an SVG for light and dark pages. */
export async function topPicture(
  { hubUrl, code }: { hubUrl: string; code: string },
  { columns, rows, watchedMs }: TopPictureOptions,
): Promise<string> {
  const state = await stateAfter({ hubUrl, code }, watchedMs);
  const lines = renderFrame({
    ...{ state, code, columns, rows, nowMs: Date.now(), hubUrl: "http://192.168.1.5:5050" },
    link: { kind: "open" },
    colors: colorsFor({ env: {} }, { isTTY: true }),
  });
  const width = Math.ceil(columns * charWidth + 2 * padding);
  const height = rows * lineHeight + 2 * padding;
  const text = lines.map(
    (line, index) =>
      `<text x="${padding}" y="${padding + (index + 1) * lineHeight - 4}">${spans(line)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" xml:space="preserve">
<style>
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328;white-space:pre}
.w{fill:#f6f8fa;stroke:#d1d9e0}.d{fill:#59636e}.b{font-weight:bold}.r{fill:#cf222e}.g{fill:#1a7f37}.y{fill:#9a6700}.l{fill:#0969da}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.w{fill:#0d1117;stroke:#3d444d}.d{fill:#9198a1}.r{fill:#ff7b72}.g{fill:#3fb950}.y{fill:#d29922}.l{fill:#58a6ff}}
</style>
<rect class="w" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>
${text.join("\n")}
</svg>
`;
}

async function stateAfter(
  { hubUrl, code }: { hubUrl: string; code: string },
  watchedMs: number,
): Promise<RoomState> {
  let state = initialState();
  await followRoom(roomSource(new RoomhubClient({ hubUrl }), code), {
    signal: AbortSignal.timeout(watchedMs),
    nowMs: Date.now,
    onChange: (next) => {
      state = next;
    },
  });
  return state;
}

/** Text between escape sequences, each of which sets one style or ends it. */
function spans(line: string): string {
  const [first = "", ...rest] = line.split("\u001b[");
  const styled = rest.map((piece) => {
    const end = piece.indexOf("m");
    return span(piece.slice(end + 1), classes[piece.slice(0, end)] ?? "");
  });
  return [span(first, ""), ...styled].join("");
}

function span(text: string, name: string): string {
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return name === "" || text === "" ? escaped : `<tspan class="${name}">${escaped}</tspan>`;
}
