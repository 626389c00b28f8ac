/** Draws a transcript of terminals as one self-contained SVG, readable on a light and on a dark page. */

const columns = 106;
const charWidth = 7.25;
const lineHeight = 17;
const padding = 14;
const titleHeight = 26;
const gap = 14;
const maxLinesPerTerminal = 30;

/** The picture at the top of README.md. */
export function firstMinute(transcript: string): string {
  return drawTranscript(transcript, {
    ana: "Ana hosts a room",
    ben: "Ben shares a model from his laptop",
    carla: "Carla sends a request with any OpenAI client",
  });
}

/** What the guide shows between its marks, without the fence. */
export function quickstartTranscript(guide: string): string {
  const [, transcript] = /^```text\n(ana\$ [^]*?)^```/m.exec(guide) ?? [];
  if (transcript === undefined) throw new Error("The quickstart has no transcript.");
  return transcript;
}

/**
 * What a terminal shows, the same on every machine and every day except for durations.
 *
 * @param code - the room's
 * @param user - who ran it: ids and the room begin with that name
 */
export function settled(screen: string, code: string, user: string): string {
  return (
    screen
      .replaceAll(code, "ABC234")
      .replace(/^Hub {3}http:\/\/[\d.]+:\d+ \(\w+\)$/m, "Hub   http://192.168.1.5:5050 (wlan0)")
      // Of a machine in several networks.
      .replace(/^ {6}http:\/\/\S+ \(\w+\)\n/gm, "")
      // As on Linux.
      .replace(
        /^ {8}(?:https:\/\/ollama\.com\/download, then:|winget install Ollama\.Ollama)$/m,
        "        curl -fsSL https://ollama.com/install.sh | sh",
      )
      .replace("winget install llama.cpp", "brew install llama.cpp")
      .replace(/chat http:\/\/127\.0\.0\.1:\d+\/rooms\/ABC234/, "chat")
      .replace(/invite http:\/\/127\.0\.0\.1:\d+\/rooms\/ABC234/, "invite ABC234")
      .replace(/(https?):\/\/[\d.]+:\d+/g, "$1://192.168.1.5:5050")
      .replace(/sha256-[\w-]{43}/g, "sha256-…")
      .replace(/sha256\/\/[\w+/]{43}=/g, "sha256//…")
      .replace(/(?<=handed out: )[0-9a-f]{128}/, "…")
      .replace(/\d\d:\d\d:\d\d/g, "10:04:00")
      .replace(/chatcmpl_\w+/g, "chatcmpl_1")
      .replace(/"created":\d+/g, '"created":1')
      .replaceAll(`${user}'s room`, "ana's room")
      .replace(new RegExp(`\\b${user}-(\\S+)( {2,})?`, "g"), (_id, rest: string, gap = "") =>
        renamed(rest, gap as string, user),
      )
      .replace(/(?: *[█▀▄ ]{20,}\n)+/g, "  (the room's page as a QR code)\n")
      .trimEnd()
  );
}

/** Columns stay where they are. */
function renamed(rest: string, gap: string, user: string): string {
  const owner = rest.startsWith("demo") ? "ana" : "ben";
  return `${owner}-${rest}${gap === "" ? "" : gap.padEnd(gap.length + user.length - owner.length)}`;
}

/** One prompt and what follows it. */
interface Terminal {
  name: string;
  lines: readonly string[];
}

/**
 * @param transcript - terminals one after the other, each beginning with a prompt such as `ana$ npx roomhub up`
 * @param titles - what the window of each of them is called, by the name in its prompt; the order is that of the picture
 */
function drawTranscript(transcript: string, titles: Readonly<Record<string, string>>): string {
  const terminals = terminalsIn(transcript);
  const width = Math.ceil(columns * charWidth + 2 * padding);
  const windows: string[] = [];
  let top = 0;
  for (const [name, title] of Object.entries(titles)) {
    const terminal = terminals.find((candidate) => candidate.name === name);
    if (terminal === undefined) throw new Error(`The transcript has no terminal of ${name}.`);
    const lines = terminal.lines.flatMap(wrapped).slice(0, maxLinesPerTerminal);
    const height = titleHeight + lines.length * lineHeight + padding;
    windows.push(drawWindow({ title, lines, top, width, height }));
    top += height + gap;
  }
  const height = top - gap;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" xml:space="preserve">
<style>
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328;white-space:pre}
.w{fill:#f6f8fa;stroke:#d1d9e0}.b{fill:#d1d9e0}.t{fill:#59636e}.p{font-weight:bold;fill:#0969da}.o{fill:#1a7f37}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.w{fill:#0d1117;stroke:#3d444d}.b{fill:#3d444d}.t{fill:#9198a1}.p{fill:#58a6ff}.o{fill:#3fb950}}
</style>
${windows.join("\n")}
</svg>
`;
}

function terminalsIn(transcript: string): Terminal[] {
  const terminals: { name: string; lines: string[] }[] = [];
  for (const line of transcript.split("\n")) {
    const [, name] = /^(\w+)\$ /.exec(line) ?? [];
    if (name === undefined) terminals.at(-1)?.lines.push(line);
    else terminals.push({ name, lines: [line] });
  }
  return terminals.map(({ name, lines }) => ({
    name,
    lines: lines.join("\n").trimEnd().split("\n"),
  }));
}

/** A typed line is shown whole; output is cut where the window ends, a chunk also before its choices. */
function wrapped(line: string): string[] {
  if (line.length <= columns) return [line];
  if (line.startsWith('data: {"id"')) return wrapped(line.replace(/"id".*?(?="choices")/, "… "));
  if (!/^\w+\$ /.test(line)) return [`${line.slice(0, columns - 1)}…`];
  const pieces: string[] = [];
  for (let rest = line; rest !== ""; rest = rest.slice(columns))
    pieces.push(rest.slice(0, columns));
  return pieces;
}

interface TerminalWindow {
  title: string;
  lines: readonly string[];
  top: number;
  width: number;
  height: number;
}

function drawWindow({ title, lines, top, width, height }: TerminalWindow): string {
  const dots = [0, 1, 2].map(
    (index) => `<circle class="b" cx="${padding + 4 + index * 14}" cy="13" r="4"/>`,
  );
  const text = lines.map((line, index) =>
    drawLine(line, titleHeight + (index + 1) * lineHeight - 4),
  );
  return `<g transform="translate(0 ${top})"><rect class="w" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>
${dots.join("")}<text class="t" x="${width / 2}" y="17" text-anchor="middle">${escaped(title)}</text>
${text.join("\n")}</g>`;
}

function drawLine(line: string, y: number): string {
  const [, prompt, command] = /^(\w+\$ )(.*)$/.exec(line) ?? [];
  if (prompt !== undefined) {
    return `<text x="${padding}" y="${y}"><tspan class="p">${prompt}</tspan>${escaped(command ?? "")}</text>`;
  }
  const outcome = / {2,}\S.* ok /.test(line) ? ' class="o"' : "";
  return `<text x="${padding}" y="${y}"${outcome}>${escaped(line)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
