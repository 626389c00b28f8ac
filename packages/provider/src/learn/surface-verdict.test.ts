import { expect, test } from "vitest";
import { judgeResponse } from "./surface-verdict.ts";

const openAiError = (message: string, code = "") =>
  JSON.stringify({ error: { message, type: "invalid_request_error", param: null, code } });

test.each([
  // no such path
  [404, "404 page not found", "unsupported"],
  [404, '{"detail":"Not Found"}', "unsupported"],
  [404, "", "unsupported"],
  [404, openAiError("Invalid URL (POST /v1/responses)"), "unsupported"],
  [404, openAiError("Invalid URL (POST /v1/messages)"), "unsupported"],
  [404, "<html><body>Cannot POST /v1/responses; see our models</body></html>", "unsupported"],
  [405, '{"detail":"Method Not Allowed"}', "unsupported"],
  [501, openAiError("This server does not support embeddings"), "unsupported"],
  [200, '{"error":"Unexpected endpoint or method. (POST /v1/responses)"}', "unsupported"],
  [400, '{"error":"Unexpected endpoint or method. (POST /v1/responses)"}', "unsupported"],
  // the path is there: it knows models, fields, stored responses
  [404, openAiError('model "llama9" not found, try pulling it first'), "supported"],
  [404, openAiError("The thing does not exist", "model_not_found"), "supported"],
  [404, openAiError("Response with id 'resp_1' not found."), "supported"],
  [400, openAiError("model is required"), "supported"],
  [500, openAiError("'messages' is required"), "supported"],
  [400, openAiError("The file was not found"), "supported"],
  [400, openAiError("Invalid URL in image_url"), "supported"],
  [422, '{"detail":[{"loc":["body","input"],"msg":"Field required"}]}', "supported"],
  [200, '{"object":"response","error":null,"output":[]}', "supported"],
  [200, '{"choices":[{"message":{"content":"Unexpected endpoint, not found"}}]}', "supported"],
  [200, '{"object":"response","output":[{"text":"cut off aft', "supported"],
  // could be either
  [200, '{"error":"out of memory"}', "unknown"],
  [200, '{"error":"the model was not found"}', "unknown"],
  [401, openAiError("no key"), "unknown"],
  [403, "", "unknown"],
  [429, "not found", "unknown"],
  [500, "no route", "unknown"],
  [500, openAiError("the model is required elsewhere"), "unknown"],
  [502, "<html>", "unknown"],
  [302, "", "unknown"],
] as const)("%i %s: %s", (status, text, verdict) => {
  expect(judgeResponse(status, text)).toBe(verdict);
});
