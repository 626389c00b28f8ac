import { type Surface, SURFACES } from "@roomhub/protocol";
import { bodyErrors, isRoutingError, routedErrors } from "./errors.ts";
import { type Success, json, type Operation, operation, type Parameter } from "./operation.ts";

const openai = "https://platform.openai.com/docs/api-reference";
const cohere = "https://docs.cohere.com/reference/rerank";
const anthropic = "https://docs.claude.com/en/api";

/** What a surface is called, by its path. */
const surfaces: Readonly<Record<string, { id: string; summary: string; manual: string }>> = {
  "chat/completions": {
    id: "createChatCompletion",
    summary: "OpenAI chat completions",
    manual: `${openai}/chat/create`,
  },
  responses: {
    id: "createResponse",
    summary: "OpenAI responses",
    manual: `${openai}/responses/create`,
  },
  "responses/compact": {
    id: "compactResponse",
    summary: "OpenAI responses compaction",
    manual: `${openai}/responses/compact`,
  },
  "responses/input_tokens": {
    id: "countResponseTokens",
    summary: "OpenAI input token count",
    manual: `${openai}/responses/input-tokens`,
  },
  completions: {
    id: "createCompletion",
    summary: "OpenAI completions",
    manual: `${openai}/completions/create`,
  },
  embeddings: {
    id: "createEmbedding",
    summary: "OpenAI embeddings",
    manual: `${openai}/embeddings/create`,
  },
  rerank: { id: "rerank", summary: "Reranking", manual: cohere },
  "v2/rerank": {
    id: "rerankV2",
    summary: "Reranking, as Cohere's client sends it",
    manual: cohere,
  },
  "audio/speech": {
    id: "createSpeech",
    summary: "OpenAI speech",
    manual: `${openai}/audio/createSpeech`,
  },
  "images/generations": {
    id: "createImage",
    summary: "OpenAI image generation",
    manual: `${openai}/images/create`,
  },
  "images/edits": {
    id: "editImage",
    summary: "OpenAI image edits",
    manual: `${openai}/images/createEdit`,
  },
  "audio/transcriptions": {
    id: "createTranscription",
    summary: "OpenAI transcription",
    manual: `${openai}/audio/createTranscription`,
  },
  "audio/translations": {
    id: "createTranslation",
    summary: "OpenAI translation of speech",
    manual: `${openai}/audio/createTranslation`,
  },
  messages: {
    id: "createMessage",
    summary: "Anthropic messages",
    manual: `${anthropic}/messages`,
  },
  "messages/count_tokens": {
    id: "countMessageTokens",
    summary: "Anthropic token count",
    manual: `${anthropic}/messages-count-tokens`,
  },
};

const servedBy = [
  "x-roomhub-participant",
  "x-roomhub-model",
  "x-roomhub-attempts",
  "x-roomhub-queue-ms",
  "x-roomhub-may-truncate",
];

/** Added by the program that calls the provider, where it translates the surface. */
const addedHeaders: Readonly<Record<string, string[]>> = {
  responses: ["x-roomhub-translated"],
  messages: ["x-roomhub-translated"],
  "messages/count_tokens": ["x-roomhub-token-count"],
};

const requireHeader: Parameter = {
  name: "x-roomhub-require",
  in: "header",
  description:
    "Features that the model must have, of `tools`, `vision`, `reasoning`, `schema` and `logprobs`, separated by commas. Never forwarded",
};

const priorityHeader: Parameter = {
  name: "x-roomhub-priority",
  in: "header",
  description:
    "`batch`: other requests come before this one; `interactive`: they do not, whatever `service_tier` says. Never forwarded",
};

/** Sent on to the provider, and no other header of the client's but `accept`. */
const forwarded: readonly Parameter[] = [
  forwardedHeader("idempotency-key"),
  forwardedHeader("x-client-request-id"),
  forwardedHeader("openai-beta"),
];
const forwardedToAnthropic: readonly Parameter[] = [
  forwardedHeader("anthropic-version"),
  forwardedHeader("anthropic-beta"),
];

const anthropicVersion: Parameter = {
  name: "anthropic-version",
  in: "header",
  description: "Any value: the response, and an error, have Anthropic's shape",
};

function forwardedHeader(name: string): Parameter {
  return { name, in: "header", description: "Forwarded to the provider" };
}

/** Both spellings of a room's base URL. */
function both(method: string, path: string): string[] {
  const below = path.startsWith("v2/") ? path : `v1/${path}`;
  return [`${method} /rooms/:code/${below}`, `${method} /v1/rooms/:code/${path}`];
}

function relayed(
  canStream: boolean,
  added: readonly string[] = [],
  content?: Surface["content"],
): Success {
  return {
    description: "The provider's own status and body.",
    content: {
      "application/json": "AnyObject",
      ...(canStream ? { "text/event-stream": "EventStream" } : {}),
      ...(content === "audio" ? { "audio/*": "Sound" } : {}),
      ...(content === "text" ? { "text/*": "Transcript" } : {}),
    },
    headers: [...servedBy, ...added],
  };
}

function ofSurface(surface: Surface): Operation {
  const named = surfaces[surface.path];
  if (named === undefined) throw new Error(`the surface ${surface.path} is not described`);
  const canContinue = surface.path === "responses";
  return {
    ...named,
    tag: "Inference",
    routes: both("POST", surface.path),
    parameters:
      surface.errorShape === "anthropic"
        ? [requireHeader, priorityHeader, ...forwarded, ...forwardedToAnthropic]
        : [requireHeader, priorityHeader, ...forwarded],
    body: "InferenceRequest",
    takesForm: surface.takesForm,
    successes: {
      200: relayed(surface.marker !== "none", addedHeaders[surface.path], surface.content),
    },
    errors: [
      ...bodyErrors,
      ...(surface.takesForm ? (["invalid_form", "model_part_late"] as const) : []),
      "room_not_found",
      "key_limit_reached",
      "client_blocked",
      ...routedErrors.filter((code) => canContinue || code !== "previous_response_not_found"),
    ],
    errorShape: surface.errorShape,
    isRelayed: true,
  };
}

function stored(
  id: string,
  method: string,
  suffix: string,
  summary: string,
  manual: string,
): Operation {
  return {
    id,
    tag: "Inference",
    summary,
    description:
      "Relayed to the participant that made the response, with the query, which may contain letters, digits and `_=&%.,[]-`.",
    routes: both(method, `responses/:responseId${suffix}`),
    successes: { 200: relayed(suffix === "" && method === "GET") },
    errors: [
      "room_not_found",
      "response_not_found",
      "participant_offline",
      "routing_loop",
      ...routedErrors.filter((code) => !isRoutingError(code)),
    ],
    isRelayed: true,
    manual: `${openai}/responses/${manual}`,
  };
}

/** Models, routes and everything that reaches a provider. */
export const inferenceOperations: readonly Operation[] = [
  operation("explainRoute", "Models", ["GET /rooms/:code/route", "GET /v1/rooms/:code/route"], {
    summary: "Where a request would go now, and why",
    parameters: [
      {
        name: "model",
        in: "query",
        description: "The request's `model` field",
        schema: { type: "string", minLength: 1, default: "*" },
      },
      {
        name: "protocol",
        in: "query",
        description: "Its surface",
        schema: {
          enum: [...new Set(SURFACES.map(({ protocol }) => protocol))],
          default: "chatCompletions",
        },
      },
    ],
    successes: { 200: json("The explanation.", "RouteExplanation") },
    errors: ["room_not_found", "invalid_type"],
  }),
  operation("listModels", "Models", both("GET", "models"), {
    summary: "Every participant that is online, as a models list",
    description:
      "Those that can serve requests come first. From memory; no provider is called. For clients that send `anthropic-version`: Anthropic's list, with the room's aliases.",
    parameters: [anthropicVersion],
    successes: { 200: json("The list.", "AnyModelList") },
    errors: ["room_not_found"],
  }),
  operation("getModel", "Models", both("GET", "models/:model"), {
    summary: "The participant that a selector would reach now",
    parameters: [anthropicVersion],
    successes: { 200: json("The participant's entry.", "AnyModelEntry") },
    errors: ["room_not_found", "model_not_found", "participant_offline", "budget_exhausted"],
  }),
  ...SURFACES.map(ofSurface),
  operation("openResponsesSocket", "Inference", both("GET", "responses"), {
    summary: "Responses over a WebSocket",
    description:
      "Open Responses' WebSocket mode: each message is the body of a request for a response with `type: response.create`, each event of the response is a message. See docs/reference/http.md.",
    successes: { 101: { description: "The socket is open." } },
    errors: ["room_not_found", "upgrade_required", "hub_draining", "hub_overloaded"],
  }),
  stored("getResponse", "GET", "", "Get a stored response", "get"),
  stored("deleteResponse", "DELETE", "", "Delete a stored response", "delete"),
  stored("cancelResponse", "POST", "/cancel", "Cancel a response in the background", "cancel"),
  stored("listInputItems", "GET", "/input_items", "The input items of a response", "input-items"),
];
