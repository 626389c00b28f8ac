import type { ComponentChildren, VNode } from "preact";
import { CopyButton } from "../parts/copy-button.tsx";
import { pure } from "../parts/pure.ts";
import { Grid } from "../parts/table.tsx";
import type { Inline } from "./markdown-inline.ts";
import { type Block, parseMarkdown } from "./markdown.ts";

/** A Markdown text as elements; whatever is in it stays text. */
export const MarkdownView = pure(({ text }: { text: string }): VNode => (
  <div class="markdown">{parseMarkdown(text).map(blockView)}</div>
));

function blockView(block: Block, index: number): VNode {
  switch (block.kind) {
    case "paragraph":
      return <p key={index}>{block.inlines.map(inlineView)}</p>;
    case "heading":
      // Below the headings of the page itself.
      return (
        <p key={index} class="heading" role="heading" aria-level={Math.min(block.level + 3, 6)}>
          {block.inlines.map(inlineView)}
        </p>
      );
    case "code":
      return <CodeBlock key={index} language={block.language} text={block.text} />;
    case "quote":
      return <blockquote key={index}>{block.blocks.map(blockView)}</blockquote>;
    case "list": {
      const items = block.items.map((item, place) => <li key={place}>{item.map(blockView)}</li>);
      if (block.start === undefined) return <ul key={index}>{items}</ul>;
      return (
        <ol key={index} start={block.start}>
          {items}
        </ol>
      );
    }
    case "table": {
      const rows = block.rows.map((cells) => cells.map((cell) => cell.map(inlineView)));
      const heads = block.heads.map((head) => head.map(inlineView));
      return <Grid key={index} label="Table" heads={heads} rows={rows} />;
    }
    case "rule":
      return <hr key={index} />;
  }
}

function inlineView(inline: Inline, index: number): ComponentChildren {
  if (typeof inline === "string") return inline;
  switch (inline.kind) {
    case "code":
      return <code key={index}>{inline.text}</code>;
    case "strong":
      return <strong key={index}>{inline.inlines.map(inlineView)}</strong>;
    case "emphasis":
      return <em key={index}>{inline.inlines.map(inlineView)}</em>;
    case "deleted":
      return <del key={index}>{inline.inlines.map(inlineView)}</del>;
    case "link":
      return (
        <a key={index} href={inline.url} target="_blank" rel="noopener noreferrer nofollow">
          {inline.inlines.map(inlineView)}
        </a>
      );
    case "break":
      return <br key={index} />;
  }
}

function CodeBlock({ language, text }: { language: string; text: string }): VNode {
  return (
    <div class="code-block">
      <p class="code-head">
        <span class="quiet">{language === "" ? "code" : language}</span>
        <CopyButton label="Copy" text={() => text} />
      </p>
      <pre tabIndex={0} aria-label={language === "" ? "Code" : `Code, ${language}`}>
        <code>{text}</code>
      </pre>
    </div>
  );
}
