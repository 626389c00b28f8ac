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
    return refused("invalid_type", "", "The request body must be a JSON object.");
  }
  const poisoned = ["__proto__", "constructor", "prototype"].find((key) =>
    Object.hasOwn(body, key),
  );
  if (poisoned !== undefined) {
    return refused("invalid_type", poisoned, `A field named ${poisoned} is not accepted.`);
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
    return refused("missing_required_parameter", param, `The field ${name} is required.`);
  }
  if (issue?.code === "invalid_type") {
    const code = field === "authHeaders" ? "invalid_auth_header" : "invalid_type";
    return refused(code, param, `${name} must be ${article(issue.expected)}.`);
  }
  const detail = issue?.message ?? "is not valid";
  const message = `${name}: ${detail}${detail.endsWith(".") ? "" : "."}`;
  const isTooLarge = issue?.code === "custom" && issue.params?.["tooLarge"] === true;
  const code = codeOfField[field] ?? (isTooLarge ? "field_too_large" : "invalid_type");
  return refused(code, param, message);
}

function refused(code: ErrorCode, param: string, message: string): ParsedBody<never> {
  return { ok: false, code, param, message };
}

function article(expected: string): string {
  return /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`;
}
