import { parseObject } from "@roomhub/protocol";
import { maxResponseBytes, type SendResult } from "./send-request.ts";

/** What became of a request of a batch. */
export type Outcome =
  | {
      kind: "response";
      status: number;
      /** of the hub; empty when it sent none */
      requestId: string;
      /** JSON */
      body: string;
    }
  | { kind: "error"; code: string; message: string };

/** What became of a request that was sent. */
export function outcomeOf(result: SendResult): Outcome {
  if (result.kind === "response") {
    const { status, headers, body } = result;
    return { kind: "response", status, requestId: headers["x-request-id"] ?? "", body };
  }
  if (result.kind === "broken") {
    const message = `The response broke off: ${result.reason}`;
    return { kind: "error", code: "response_broken", message };
  }
  if (result.kind === "unreachable") {
    return { kind: "error", code: "hub_unreachable", message: result.reason };
  }
  const message = `The response is longer than ${maxResponseBytes / 1024 / 1024} MiB`;
  return { kind: "error", code: "response_too_large", message };
}

/**
 * A line of an output or error file, in OpenAI's format.
 * https://platform.openai.com/docs/api-reference/batch/request-output
 *
 * @param id - of the line
 */
export function outcomeLine(id: string, customId: string, outcome: Outcome): string {
  const head = `{"id":${JSON.stringify(id)},"custom_id":${JSON.stringify(customId)}`;
  if (outcome.kind === "error") {
    const { code, message } = outcome;
    return `${head},"response":null,"error":${JSON.stringify({ code, message })}}\n`;
  }
  const { status, requestId, body } = outcome;
  const response = `"status_code":${status},"request_id":${JSON.stringify(requestId)}`;
  // Line breaks can only be between the tokens of JSON, where a space means the same.
  const line = body.replaceAll(/[\r\n]+/g, " ");
  return `${head},"response":{${response},"body":${line}},"error":null}\n`;
}

/** @param line - of an output or error file, without its end @returns undefined for any other line */
export function customIdOf(line: string): string | undefined {
  // Most of the line is the response: the beginning of what is written here is enough.
  const text = /^\{"id":"[\w-]*","custom_id":("(?:[^"\\]|\\.)*"),.*\}$/s.exec(line)?.[1];
  const { custom_id: id } = parseObject(text === undefined ? line : `{"custom_id":${text}}`) ?? {};
  return typeof id === "string" ? id : undefined;
}
