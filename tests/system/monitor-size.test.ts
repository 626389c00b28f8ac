import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { loadPageFiles } from "../../packages/cli/src/watch/monitor/page-files.ts";

const files = await loadPageFiles();

test("the page that watches a room has at most 52 KB, compressed", () => {
  const bytes = [...files.values()].reduce((sum, { body }) => sum + gzipSync(body).length, 0);
  expect([...files.keys()].some((name) => name.endsWith(".js"))).toBe(true);
  expect(bytes).toBeLessThan(52 * 1024);
});

test("the page loads nothing from elsewhere, and nothing in it is made from text as HTML", () => {
  const html = files.get("/index.html")?.body.toString() ?? "";
  expect(html).toContain("default-src 'none'");
  expect(html.match(/(?:src|href)="(?!\.\/|data:)[^"]*"/g)).toBeNull();
  for (const [name, { body }] of files) {
    if (name.endsWith(".css")) expect(body.toString()).not.toMatch(/url\(|@import/);
    if (name.endsWith(".js"))
      expect(body.toString()).not.toMatch(/dangerouslySetInnerHTML:|eval\(|new Function/);
  }
});
