import type { ServableRequest, SurfaceTranslation } from "../translation/surface-translation.ts";
import { responsesStream, translateResponse } from "./output/stream.ts";
import { translateRequest } from "./request/request.ts";
import { refuseDeepNesting } from "../translation/placed-object.ts";

/** `/responses` served by a server's chat. */
export const responsesTranslation: SurfaceTranslation = {
  surface: "openResponses",
  translate,
  refusal: ({ message, param, code }) => ({
    error: { message, type: "invalid_request_error", param, code },
  }),
};

function translate(body: Buffer): ServableRequest {
  const request = translateRequest(body);
  refuseDeepNesting([request.chat, request.echo]);
  const { chat, model, isStream } = request;
  return {
    ...{ chat, model, isStream, optionalFields: [] },
    // What most servers read.
    reasoningAtFirst: "reasoning_content",
    stream: (source) => responsesStream(request, source),
    response: (completion, source) => translateResponse(completion, request, source),
  };
}
