import { z } from "zod";
import type { OpenApiDocument } from "../../../scripts/openapi/document.ts";

interface Described {
  responses: Record<string, { $ref?: string; content?: Record<string, { schema: object }> }>;
}

/** Checks responses against a document: is the status described, and has the body these fields and no other? */
export interface AnswerJudge {
  /** @param route - `GET /rooms/{code}` @returns what is wrong, in lines; `""` when nothing is */
  problemsOf(route: string, status: number, body: unknown): string;
  /** The same for a value and a schema of `components`. */
  problemsWith(schemaName: string, value: unknown): string;
}

export function judgeAnswers(document: OpenApiDocument): AnswerJudge {
  const definitions = inOneSchema(closed(document.components["schemas"] ?? {}));
  const problems = (schema: object, value: unknown): string => {
    const whole = { ...(inOneSchema(schema) as object), $defs: definitions };
    const checked = z.fromJSONSchema(whole as Parameters<typeof z.fromJSONSchema>[0]);
    const result = checked.safeParse(value);
    return result.success ? "" : z.prettifyError(result.error);
  };
  return {
    problemsWith: (name, value) => problems({ $ref: `#/components/schemas/${name}` }, value),
    problemsOf(route, status, body) {
      const [method = "", path = ""] = route.split(" ");
      const operation = document.paths[path]?.[method.toLowerCase()] as Described | undefined;
      const response = operation?.responses[String(status)];
      if (response === undefined) return `${route} does not say that it may answer ${status}`;
      const { content } = resolve(document, response);
      const schema = content?.["application/json"]?.schema;
      return schema === undefined ? `${route} ${status} has no JSON` : problems(schema, body);
    },
  };
}

function resolve(document: OpenApiDocument, response: Described["responses"][string]) {
  if (response.$ref === undefined) return response;
  const name = response.$ref.slice(response.$ref.lastIndexOf("/") + 1);
  return document.components["responses"]?.[name] as typeof response;
}

/** A JSON schema of its own has its definitions inside. */
function inOneSchema(schema: unknown): unknown {
  const text = JSON.stringify(schema).replaceAll("#/components/schemas/", "#/$defs/");
  return JSON.parse(text) as unknown;
}

/** Objects as they are today: a field that the document lacks is a mistake here, if not for clients. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const inside = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, closed(value)]),
  );
  const isObject = "properties" in inside && !("additionalProperties" in inside);
  return isObject ? { ...inside, additionalProperties: false } : inside;
}
