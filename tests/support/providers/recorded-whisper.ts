import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Recording, readRecording } from "./recording.ts";

/** whisper.cpp's server 1.9.5, as recorded. Listens on 127.0.0.1. */
export interface RecordedWhisper extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** the forms it got, in order */
  readonly forms: readonly string[];
}

/** @param inferencePath - its option `--inference-path` */
export async function startRecordedWhisper(inferencePath = "/inference"): Promise<RecordedWhisper> {
  const forms: string[] = [];
  const server = createServer((request, response) => void serve(request, response));

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const line = `${request.method} ${request.url}`;
    const form = Buffer.concat(parts).toString("latin1");
    if (line === `POST ${inferencePath}`) forms.push(form);
    const { status, headers, body } = recordingFor(line, form);
    response.writeHead(status, headers).end(body);
  }

  function recordingFor(line: string, form: string): Recording {
    if (line === `POST ${inferencePath}`) return recording(transcriptFor(form));
    // Its response to every path that it does not have.
    if (line !== "GET /") return recording("models");
    const page = recording("page");
    const body = page.body.toString().replaceAll("/inference", inferencePath);
    return { ...page, body: Buffer.from(body) };
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    forms,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Its transcript in one of its formats, or `translated`, in the verbose one. */
export function whisperTranscript(name: string): string {
  return recording(name).body.toString();
}

function recording(name: string): Recording {
  return readRecording(`whisper.cpp/${name}`);
}

function transcriptFor(form: string): string {
  const valueOf = (name: string) =>
    new RegExp(`name="${name}"\\r\\n\\r\\n(\\w+)\\r\\n`).exec(form)?.[1];
  if (!form.includes('name="file"')) return "error-no-file";
  if (valueOf("translate") === "true") return "translated";
  return valueOf("response_format") ?? "json";
}
