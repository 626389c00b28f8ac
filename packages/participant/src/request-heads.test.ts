import { expect, test } from "vitest";
import { isAllowedRequest } from "./request-heads.ts";

const served = [
  "POST /chat/completions",
  "POST /responses",
  "POST /completions",
  "POST /embeddings",
  "POST /messages",
  "POST /messages/count_tokens",
  "POST /responses/input_tokens",
  "POST /responses/compact",
  "GET /models",
  "GET /models/llama3:8b",
  "GET /models/qwen%2Fqwen3",
  "GET /responses/resp_1",
  "GET /responses/resp_1/input_items",
  "GET /responses/resp_1?stream=true&starting_after=3&include[]=a.b",
  "GET /responses/resp_1/input_items?limit=20&after=msg_1&include%5B%5D=a",
  "DELETE /responses/resp_1",
  "POST /responses/resp_1/cancel",
];
const refused = [
  "GET /chat/completions",
  "DELETE /models/llama3",
  "POST /models",
  "POST /api/pull",
  "POST /",
  "POST ",
  "POST /chat/completions/",
  "POST //chat/completions",
  "POST /chat/completions?x=1",
  "POST /chat/completions#x",
  "POST /chat/../api/delete",
  "POST /chat/completions/../../api/delete",
  "GET /models/..",
  "GET /models/../api/tags",
  "GET /models/%2e%2e/api",
  "GET /models/%2E%2E%2fapi",
  "GET /models/.%2e",
  "GET /models/a%5c..",
  "GET /models/%252e%252e",
  "GET /models/a b",
  "GET /models/",
  "GET /responses/../models",
  "GET /responses/a?x=/../y",
  "GET /responses/a?x#y",
  "GET /responses/a?x?y",
  "GET /responses/..?x=1",
  `GET /responses/a?${"x".repeat(513)}`,
  "DELETE /responses/a?x=1",
  "POST /responses/a/cancel?x=1",
  "GET /models?limit=1",
  "GET /responses/..",
  "GET /responses/a/b",
  "GET http://169.254.169.254/latest",
  "GET /http://169.254.169.254/latest",
  "POST \\chat\\completions",
  "post /chat/completions",
  "CONNECT /models",
];

test("the listed method and path pairs are served", () => {
  expect(served.filter((line) => !isAllowed(line))).toEqual([]);
});

test("everything else is refused: other methods, queries, path traversal, absolute URLs", () => {
  expect(refused.filter(isAllowed)).toEqual([]);
});

function isAllowed(line: string): boolean {
  const space = line.indexOf(" ");
  return isAllowedRequest(line.slice(0, space), line.slice(space + 1));
}
