import { describe, expect, test } from "vitest";
import { prefersHtml } from "./serve-page.ts";

describe("prefersHtml", () => {
  test.each([
    "text/html",
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
    "TEXT/HTML;q=0.5",
    "text/html;q=0.001",
    "application/json, text/html",
    "application/json;q=0.5, text/html;q=0.5",
    "text/html;level=1;q=0.4",
  ])("a page for %j", (accept) => {
    expect(prefersHtml(accept)).toBe(true);
  });

  test.each([
    undefined,
    "",
    "*/*",
    "text/*",
    "application/json",
    "application/json, text/plain, */*",
    "text/html;q=0",
    "text/html;q=0.4, application/json;q=0.5",
    "text/html;q=2",
    "text/html;q=nan",
    "text/html, *; q=.2, */*; q=.2",
    "text/html,,",
    "text/htmlx",
    `text/html,${"a/b,".repeat(1_000)}`,
  ])("JSON for %j", (accept) => {
    expect(prefersHtml(accept)).toBe(false);
  });
});
