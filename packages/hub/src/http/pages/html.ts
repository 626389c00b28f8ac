import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";

/** Markup, as opposed to text that must be escaped before it is markup. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Markup with values: texts are escaped, markup is not, lists are joined. */
export function html(
  strings: TemplateStringsArray,
  ...values: (string | Html | readonly Html[])[]
): Html {
  return new Html(
    strings.reduce((text, part, index) => `${text}${markupOf(values[index - 1] ?? "")}${part}`),
  );
}

/** Sends a page. It may load only its own style: no script, no other file, no frame. Contract §7. */
export function sendPage(
  response: ServerResponse,
  status: number,
  title: string,
  body: Html,
  headers: Record<string, string> = {},
): void {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        ${styleElement}
      </head>
      <body>
        ${body}
      </body>
    </html> `;
  const bytes = Buffer.from(page.text);
  response.writeHead(status, {
    ...headers,
    "content-type": "text/html; charset=utf-8",
    "content-length": bytes.length,
    "content-security-policy": policy,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  });
  response.end(bytes);
}

/** A line to paste; one click selects all of it. */
export function pasteLine(line: string): Html {
  return html`<pre><code>${line}</code></pre>`;
}

/** The same, with a label. */
export function pasteBox(label: string, line: string): Html {
  return html`<h3>${label}</h3>
    ${pasteLine(line)}`;
}

function markupOf(value: string | Html | readonly Html[]): string {
  if (typeof value === "string") return escape(value);
  return value instanceof Html ? value.text : value.map(({ text }) => text).join("");
}

const entities: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");
}

const style = `
:root{color-scheme:light dark;--line:#8886;--box:#8881;--back:#fff;--text:#1a1a1a;--quiet:#595959;--on:#117a3d;--link:#0b57d0}
@media (prefers-color-scheme:dark){:root{--back:#16181b;--text:#e8e8e8;--quiet:#a6a6a6;--on:#4cc27a;--link:#8ab4f8}}
*{box-sizing:border-box}
html{background:var(--back);color:var(--text)}
a{color:var(--link)}
body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:0 auto;padding:1.25rem 1rem 3rem;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:.25rem 0 1rem}
h2{font-size:1.125rem;margin:1.75rem 0 .25rem}
h2 .quiet{font-weight:400;font-size:1rem}
h3{font-size:.875rem;margin:1rem 0 .25rem}
p{margin:.25rem 0 .75rem}
pre{margin:.25rem 0 .75rem;padding:.6rem .75rem;border:1px solid var(--line);border-radius:.4rem;background:var(--box);white-space:pre-wrap;overflow-wrap:anywhere}
code{font:.875rem/1.5 ui-monospace,monospace;user-select:all;-webkit-user-select:all}
ul{padding:0;margin:.25rem 0;list-style:none}
li{padding:.4rem 0;border-top:1px solid var(--line)}
.ways{display:flex;gap:.75rem}
.ways a{flex:1;padding:.75rem;border:1px solid var(--link);border-radius:.4rem;font-weight:600;text-align:center;text-decoration:none}
.quiet{color:var(--quiet)}
.on{color:var(--on)}
`;

// The policy allows exactly this text.
const styleElement = new Html(`<style>${style}</style>`);
const digest = createHash("sha256").update(style).digest("base64");
const policy = `default-src 'none'; style-src 'sha256-${digest}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
