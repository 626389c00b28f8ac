import { isDeeperThan, LIMITS } from "@roomhub/protocol";
import type { ServableRequest, SurfaceTranslation } from "../translation/surface-translation.ts";
import { responsesStream } from "./output/stream.ts";
import { translateResponse } from "./output/whole-response.ts";
import { translateRequest } from "./request/request.ts";
import { UntranslatableError } from "../translation/read-field.ts";

/** What is translated may stand a little deeper than it stood. */
const maxDepth = 2 * LIMITS.jsonDepth.default;

/** `/responses` served by a server's chat. */
export const responsesTranslation: SurfaceTranslation = {
  surface: "openResponses",
  translate,
  refusal: ({ message, param, code }) => ({
    error: { message, type: "invalid_request_error", param, code },
  }),
};

/** A hub refuses deep nesting; an agent cannot rely on its hub, and JSON of any depth cannot be written again. */
function translate(body: Buffer): ServableRequest {
  const request = translateRequest(body);
  if (isDeeperThan([request.chat, request.echo], maxDepth)) {
    throw new UntranslatableError("The request body is nested too deeply.", "", "invalid_type");
  }
  const { chat, model, isStream } = request;
  return {
    chat,
    model,
    isStream,
    optionalFields: [],
    // What most servers read.
    reasoningAtFirst: "reasoning_content",
    stream: (source) => responsesStream(request, source),
    response: (completion, source, onReasoning) =>
      translateResponse(completion, request, source, onReasoning),
  };
}
