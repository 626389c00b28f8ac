import { afterAll } from "vitest";
import { missingInPython, PythonProgram } from "../../support/programs/python.ts";
import { describeClient } from "../describe-client.ts";
import { type RawAnswer, rawChatOperations, type RawRequest } from "./raw-operations.ts";

const python = { running: undefined as PythonProgram | undefined };
afterAll(() => python.running?.close());

describeClient({
  name: "Python, requests",
  speaks: "chat",
  missing: missingInPython("requests"),
  does: rawChatOperations((request) => exchange("ask_with_requests", request)),
});

describeClient({
  name: "Python, http.client",
  speaks: "chat",
  missing: missingInPython("http"),
  does: rawChatOperations((request) => exchange("ask_with_http_client", request)),
});

function exchange(
  ask: "ask_with_requests" | "ask_with_http_client",
  { method, url, body, onLine }: RawRequest,
): Promise<RawAnswer> {
  python.running ??= new PythonProgram(new URL("python-client.py", import.meta.url));
  const given = { method, url, body: body ?? null };
  return python.running.call(ask, given, (line: string) => onLine(line) === "go on");
}
