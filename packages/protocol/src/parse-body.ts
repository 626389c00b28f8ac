import type { z } from "zod";
import type { ErrorCode } from "./error.ts";
import { isObject } from "./json-object.ts";
import { printable } from "./text.ts";

export type ParsedBody<T> =
  | { ok: true; value: T }
  | {
      ok: false;
      code: ErrorCode;
      /** dotted path, `""` for the body itself */ param: string;
      message: string;
    };

const codeOfField: Record<string, ErrorCode> = {
  id: "invalid_id",
  endpoint: "invalid_endpoint",
  nickname: "invalid_nickname",
  authHeaders: "invalid_auth_header",
};

/**
 * Checks a decoded JSON body. Reports the first problem: its code (contract §6), its path, and a message that repeats
 * names but never values.
 */
export function parseBody<T extends z.ZodType>(schema: T, body: unknown): ParsedBody<z.output<T>> {
  if (!isObject(body)) {
    return {
      ok: false,
      code: "invalid_type",
      param: "",
      message: "The request body must be a JSON object.",
    };
  }
  const poisoned = ["__proto__", "constructor", "prototype"].find((key) =>
    Object.hasOwn(body, key),
  );
  if (poisoned !== undefined) {
    return {
      ok: false,
      code: "invalid_type",
      param: poisoned,
      message: `A field named ${poisoned} is not accepted.`,
    };
  }
  const result = schema.safeParse(body);
  if (result.success) return { ok: true, value: result.data };
  const issue = result.error.issues[0];
  const path = issue?.path ?? [];
  // A header name comes from the sender: any length, any characters.
  const param = printable(path.map(String).join(".")).slice(0, 200);
  const field = String(path[0] ?? "");
  const name = param === "" ? "The body" : param;
  const isTopLevel = path.length === 1;
  if (issue?.code === "invalid_type" && isTopLevel && !Object.hasOwn(body, field)) {
    return {
      ok: false,
      code: "missing_required_parameter",
      param,
      message: `The field ${name} is required.`,
    };
  }
  if (issue?.code === "invalid_type") {
    const message = `${name} must be ${article(issue.expected)}.`;
    return {
      ok: false,
      code: field === "authHeaders" ? "invalid_auth_header" : "invalid_type",
      param,
      message,
    };
  }
  const detail = issue?.message ?? "is not valid";
  const message = `${name}: ${detail}${detail.endsWith(".") ? "" : "."}`;
  const isTooLarge = issue?.code === "custom" && issue.params?.["tooLarge"] === true;
  const fieldCode = codeOfField[field];
  if (fieldCode !== undefined) return { ok: false, code: fieldCode, param, message };
  return { ok: false, code: isTooLarge ? "field_too_large" : "invalid_type", param, message };
}

function article(expected: string): string {
  return /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`;
}
