import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Which program a versioned provider is: one that reports its version as Ollama does, or one that reports nothing. */
export type Program =
  | { kind: "ollama"; version: string }
  | { kind: "nameless"; hasResponses: boolean };

/** A model server that can be stopped and come back as another version. Everything that reaches it is written down. */
export interface VersionedProvider extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/v1` */
  readonly url: string;
  /** `POST /v1/responses {…}`: line and body of every request, in order */
  readonly asked: string[];
  stop(): Promise<void>;
  /** On the port it had. */
  start(program: Program): Promise<void>;
}

const sinceResponses = "0.13.3";

export async function startVersionedProvider(first: Program): Promise<VersionedProvider> {
  let program = first;
  const asked: string[] = [];
  const server = createServer((request, response) => void serve(request, response));

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString();
    const line = `${request.method} ${request.url}`;
    asked.push(`${line} ${body}`.trim());
    const { status, text } = answerTo(program, line, body);
    const type = text.startsWith("data:") ? "text/event-stream" : "application/json";
    response.writeHead(status, { "content-type": type }).end(text);
  }

  async function listen(port: number): Promise<void> {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  }

  async function stop(): Promise<void> {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  }

  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    stop,
    async start(next) {
      program = next;
      await listen(port);
    },
    [Symbol.asyncDispose]: stop,
  };
}

interface Said {
  status: number;
  text: string;
}

function answerTo(program: Program, line: string, body: string): Said {
  const owner = program.kind === "ollama" ? "library" : "me";
  switch (line) {
    case "GET /v1/models":
      return ok({ object: "list", data: [{ id: "m", object: "model", owned_by: owner }] });
    case "GET /api/ps":
      return program.kind === "ollama" ? ok({ models: [{ name: "m:latest" }] }) : notFound;
    case "GET /api/version":
      return program.kind === "ollama" ? ok({ version: program.version }) : notFound;
    case "POST /v1/chat/completions":
      return generate(body, chatAnswer);
    case "POST /v1/responses":
      return hasResponses(program) ? generate(body, () => ok(response)) : notFound;
    default:
      return notFound;
  }
}

function hasResponses(program: Program): boolean {
  return program.kind === "ollama" ? program.version >= sinceResponses : program.hasResponses;
}

const notFound: Said = { status: 404, text: "404 page not found" };
const response = {
  id: "resp_own",
  object: "response",
  status: "completed",
  output: [],
  error: null,
};

/** As real servers do: nothing is generated before it is known with which model. */
function generate(body: string, answer: (isStream: boolean) => Said): Said {
  const { model, stream } = JSON.parse(body) as { model?: string; stream?: boolean };
  if (model !== undefined) return answer(stream === true);
  return { status: 400, text: '{"error":{"message":"model is required"}}' };
}

function chatAnswer(isStream: boolean): Said {
  if (isStream) {
    const chunk = (delta: object, finish_reason: string | null) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    const text = `${chunk({ content: "from " }, null)}${chunk({ content: "chat" }, "stop")}`;
    return { status: 200, text: `${text}data: [DONE]\n\n` };
  }
  const message = { role: "assistant", content: "from chat" };
  return ok({ object: "chat.completion", choices: [{ index: 0, message, finish_reason: "stop" }] });
}

function ok(value: object): Said {
  return { status: 200, text: JSON.stringify(value) };
}
