import type { Dialect, Scene } from "./recordings.ts";
import { SCRIPT } from "./script.ts";

const PATHS: Record<Dialect, string> = {
  chat: "chat/completions",
  responses: "responses",
  messages: "messages",
};

/** Every recording there is. No participant serves JSON schemas on `messages`. */
export const RECORDED: readonly { dialect: Dialect; scene: Scene }[] = [
  { dialect: "chat", scene: "text" },
  { dialect: "chat", scene: "tool-call" },
  { dialect: "chat", scene: "structured" },
  { dialect: "responses", scene: "text" },
  { dialect: "responses", scene: "tool-call" },
  { dialect: "responses", scene: "structured" },
  { dialect: "messages", scene: "text" },
  { dialect: "messages", scene: "tool-call" },
];

/** Requests a recording with a minimal request. @returns the response's body */
export async function askFor(
  baseUrl: string,
  dialect: Dialect,
  scene: Scene,
  stream: boolean,
): Promise<string> {
  const turns = [{ role: "user", content: "What should I wear in Oslo?" }];
  const asked = dialect === "responses" ? { input: turns } : { messages: turns };
  const body = {
    model: "*",
    stream,
    ...asked,
    ...wishOf(dialect, scene),
    ...countsOf(dialect, stream),
  };
  const response = await fetch(`${baseUrl}/${PATHS[dialect]}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  return await response.text();
}

function wishOf(dialect: Dialect, scene: Scene): object {
  switch (scene) {
    case "text":
      return {};
    case "tool-call":
      return { tools: [toolOf(dialect)] };
    case "structured":
      return dialect === "chat"
        ? { response_format: { type: "json_object" } }
        : { text: { format: { type: "json_object" } } };
  }
}

function toolOf(dialect: Dialect): object {
  const { name } = SCRIPT.toolCall;
  const schema = { type: "object", properties: { city: { type: "string" } } };
  switch (dialect) {
    case "chat":
      return { type: "function", function: { name, parameters: schema } };
    case "responses":
      return { type: "function", name, parameters: schema };
    case "messages":
      return { name, input_schema: schema };
  }
}

function countsOf(dialect: Dialect, stream: boolean): object {
  if (dialect === "messages") return { max_tokens: 1024 };
  return dialect === "chat" && stream ? { stream_options: { include_usage: true } } : {};
}
