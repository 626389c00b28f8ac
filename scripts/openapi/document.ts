import type { ErrorCode } from "@roomhub/protocol";
import { readFileSync } from "node:fs";
import { ROUTES } from "../../packages/hub/src/http/routes.ts";
import {
  errorResponse,
  errorResponseComponents,
  errorResponses,
  gateErrors,
  headerRef,
} from "./errors.ts";
import { inferenceOperations } from "./inference.ts";
import { keyOperations } from "./keys.ts";
import { managementOperations } from "./management.ts";
import { type Success, type Operation, TAGS } from "./operation.ts";
import { componentSchemas, schemaRef } from "./schemas.ts";

/** An OpenAPI 3.1 document, https://spec.openapis.org/oas/v3.1.1.html */
export interface OpenApiDocument {
  openapi: string;
  info: Record<string, unknown>;
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  components: Record<string, Record<string, unknown>>;
}

interface OperationObject {
  operationId: string;
  tags: string[];
  parameters: object[];
  responses: Record<string, unknown>;
  [field: string]: unknown;
}

/**
 * The hub's whole HTTP surface: its table of routes, the protocol's schemas and errors, and one description per operation.
 *
 * @throws when a route has no description, or a description no route
 */
export function buildDocument(): OpenApiDocument {
  return {
    openapi: "3.1.1",
    info: {
      title: "roomhub",
      summary: "Share language models in rooms: one OpenAI-compatible base URL, many participants.",
      description:
        "Two families of paths, `/rooms…` and `/v1…`, lead to the same operations. Bodies are read as JSON regardless of `content-type`. An unknown path is 404 `not_found`, another method of a known one 405 `method_not_allowed`. Every response has `x-request-id` and `access-control-allow-origin: *`.",
      version: hubVersion(),
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The hub that serves this document" }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: paths(),
    components: {
      schemas: componentSchemas(),
      responses: errorResponseComponents(),
      parameters: pathParameters,
      headers,
      securitySchemes: {
        participantToken: {
          type: "apiKey",
          in: "header",
          name: "x-participant-token",
          description: "The `participantToken` of the join",
        },
        participantBearer: {
          type: "http",
          scheme: "bearer",
          description: "The same as `Authorization: Bearer rhp_…`",
        },
        hostToken: {
          type: "apiKey",
          in: "header",
          name: "x-host-token",
          description: "The `hostToken` of the room's creation",
        },
        hostBearer: {
          type: "http",
          scheme: "bearer",
          description: "The same as `Authorization: Bearer rhh_…`",
        },
        operator: {
          type: "apiKey",
          in: "header",
          name: "x-roomhub-admin",
          description: "The secret of the hub's operator",
        },
        roomKey: {
          type: "http",
          scheme: "bearer",
          description:
            "In a closed room, every operation needs a key of it: `Authorization: Bearer rhk_…`, `x-api-key` or `api-key`",
        },
      },
    },
  };
}

function hubVersion(): string {
  const file = new URL("../../packages/hub/package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** In the order of the table of routes. */
function paths(): OpenApiDocument["paths"] {
  const described = new Map<string, Operation>();
  for (const operation of [...managementOperations, ...keyOperations, ...inferenceOperations]) {
    for (const route of operation.routes) {
      if (described.has(route)) throw new Error(`${route} is described twice`);
      described.set(route, operation);
    }
  }
  const paths: OpenApiDocument["paths"] = {};
  for (const { method, path, needs } of ROUTES) {
    const route = `${method} ${path}`;
    const operation = described.get(route);
    if (operation === undefined) throw new Error(`${route} is not described in scripts/openapi`);
    described.delete(route);
    const template = path.replaceAll(/:(\w+)/g, "{$1}");
    (paths[template] ??= {})[method.toLowerCase()] = operationObject(operation, path, needs);
  }
  const [leftOver] = described.keys();
  if (leftOver !== undefined) throw new Error(`${leftOver} is described, but no route of the hub`);
  return paths;
}

function operationObject(
  operation: Operation,
  path: string,
  needs: (typeof ROUTES)[number]["needs"],
): OperationObject {
  const { id, tag, summary, description, body, token, manual } = operation;
  return {
    operationId: path.startsWith("/v1/") ? `v1${id.charAt(0).toUpperCase()}${id.slice(1)}` : id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(manual === undefined ? {} : { externalDocs: { url: manual } }),
    parameters: [
      ...[...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
        $ref: `#/components/parameters/${name}`,
      })),
      ...(operation.parameters ?? []).map((parameter) => ({
        schema: { type: "string" },
        ...parameter,
      })),
    ],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: content({
              "application/json": body,
              ...(operation.takesForm === true ? { "multipart/form-data": body } : {}),
            }),
          },
        }),
    responses: responses(operation, needs === "none" ? [] : gateErrors),
    ...(token === undefined ? {} : { security: security(token) }),
  };
}

function responses(
  { successes, errors, errorShape = "openai", isRelayed }: Operation,
  more: readonly ErrorCode[],
) {
  const good = Object.entries(successes).map(([status, success]) => [status, response(success)]);
  // A status that is both a success and an error, as a stopping hub's 503, is described as the success.
  return {
    ...errorResponses([...errors, ...more], errorShape),
    ...(Object.fromEntries(good) as Record<string, unknown>),
    ...(isRelayed === true ? { "4XX": errorResponse(errorShape, relayedRefusal) } : {}),
  };
}

const relayedRefusal =
  "The provider's own refusal, with the participant's secrets removed; its 401, 403 and 407 become 502 `provider_auth_failed`.";

function response({ description, content: offered, headers: named = [] }: Success) {
  const all = ["x-request-id", ...named];
  return {
    description,
    headers: Object.fromEntries(all.map((name) => [name, headerRef(name)])),
    ...(offered === undefined ? {} : { content: content(offered) }),
  };
}

function content(offered: NonNullable<Success["content"]>) {
  return Object.fromEntries(
    Object.entries(offered).map(([type, schema]) => [
      type,
      { schema: { $ref: schemaRef(schema) } },
    ]),
  );
}

function security(token: NonNullable<Operation["token"]>): object[] {
  if (token === "keeper") return [{ hostToken: [] }, { hostBearer: [] }, { operator: [] }];
  if (token === "host") return [{ hostToken: [] }, { hostBearer: [] }, {}];
  const proofs = [{ participantToken: [] }, { participantBearer: [] }];
  return token === "optional" ? [...proofs, {}] : proofs;
}

const pathParameters = {
  code: inPath("code", "The room's code, in any letter case"),
  key: inPath("key", "A key's id or name"),
  client: inPath("client", "A client's name or fingerprint, as events show it, or its address"),
  id: inPath("id", "A participant's id"),
  model: inPath("model", "A participant's id or any selector, percent-encoded"),
  version: inPath("version", "The hub's own version"),
  responseId: inPath("responseId", "The id of a response made through this hub"),
};

function inPath(name: string, description: string) {
  return { name, in: "path", required: true, description, schema: { type: "string" } };
}

const headers = {
  "x-request-id": header("The `requestId` of the events about this request"),
  "x-roomhub-participant": header(
    "The id of the participant that served it; percent-encoded outside visible ASCII",
  ),
  "x-roomhub-model": header("Its model's name; percent-encoded outside visible ASCII"),
  "x-roomhub-attempts": header("Participants called, 1 to 3", "integer"),
  "x-roomhub-queue-ms": header("Milliseconds spent waiting for a free participant", "integer"),
  "x-roomhub-may-truncate": header(
    "`true` where the prompt may be longer than the context of a model server that cuts it without saying so",
  ),
  "x-roomhub-translated": header("`chat` where the response was made from chat completions"),
  "x-roomhub-token-count": header("`estimate` where no tokenizer counted"),
  "retry-after": header("Seconds after which to retry", "integer"),
  "x-should-retry": header("`false` where the same request would fail again"),
  etag: header("Of this version; send it back as `if-none-match`"),
  "repr-digest": header("`sha-512=:…:`, RFC 9530"),
};

function header(description: string, type = "string") {
  return { description, schema: { type } };
}
