import type { ServerProgram } from "../learn/fingerprints.ts";
import type {
  ServableRequest,
  ServerFacts,
  SurfaceTranslation,
} from "../translation/surface-translation.ts";
import { messageStream, streamedMessage } from "./output/message-stream.ts";
import { translateMessage } from "./output/whole-message.ts";
import { requestsFormat, translateMessages } from "./request/request.ts";
import { refuseDeepNesting } from "../translation/placed-object.ts";

/** Members that some servers refuse. A response without them is better than none. */
const optionalFields: ServableRequest["optionalFields"] = [
  { name: "max_tokens", refusal: /\bmax_(?:completion_)?tokens\b|\bin the completion\b/ },
  {
    name: "reasoning_effort",
    // The others are Ollama's words for it: of a model without thinking, without levels of it, and of another level.
    refusal:
      /\breasoning_effort\b|does not support thinking|\bthink value\b|\binvalid reasoning value\b/,
  },
  { name: "response_format", refusal: /\bresponse_format\b/ },
  { name: "parallel_tool_calls", refusal: /\bparallel_tool_calls\b/ },
  { name: "top_k", refusal: /\btop_k\b/ },
];

/**
 * They are known to enforce the schema of a `response_format` in chat. Their `/messages` accept an `output_config` whether
 * they enforce it or not.
 */
const enforceInChat: ReadonlySet<ServerProgram | undefined> = new Set<ServerProgram>([
  "llama.cpp",
  "Ollama",
  "LM Studio",
  "vLLM",
  "SGLang",
]);

/** `/messages` served by a server's chat. */
export const messagesTranslation: SurfaceTranslation = {
  surface: "messages",
  prefersChat: ({ program }, body) =>
    enforceInChat.has(program) && (body === undefined || requestsFormat(Buffer.concat(body))),
  translate,
  refusal: ({ status, message, param, code }) => ({
    type: "error",
    error: {
      type: status === 413 ? "request_too_large" : "invalid_request_error",
      message,
      param,
      code,
      // With this, Anthropic's SDK sends the whole conversation instead.
      ...(code === "thread_not_found" ? { details: { error_code: code } } : {}),
    },
  }),
};

function translate(body: Buffer, { program }: ServerFacts): ServableRequest {
  const request = translateMessages(body, program);
  refuseDeepNesting(request.chat);
  const { chat, model, isStream } = request;
  return {
    ...{ chat, model, isStream, optionalFields },
    // It is sent back only to servers known to take it.
    reasoningAtFirst: "none",
    stream: (source) => messageStream(request, source),
    response: (completion, source) => translateMessage(completion, request, source),
    streamed: (completion, source) => streamedMessage(completion, request, source),
  };
}
