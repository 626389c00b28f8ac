import { readFileSync } from "node:fs";

/** One response of a real model server, from `tests/fixtures/`. */
export interface Recording {
  status: number;
  /** without the headers that frame the body */
  headers: Record<string, string>;
  body: Buffer;
}

/** @param name - of a file below `tests/fixtures/`, without its ending */
export function readRecording(name: string): Recording {
  const file = readFileSync(new URL(`../../fixtures/${name}.http`, import.meta.url));
  const headEnd = file.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = file.toString("latin1", 0, headEnd).split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const [key = "", value = ""] = line.split(/: ?(.*)/s);
    return [key.toLowerCase(), value];
  });
  return {
    status: Number(statusLine.split(" ")[1]),
    headers: Object.fromEntries(headers.filter(([key]) => !framing.has(key))),
    body: file.subarray(headEnd + 4),
  };
}

const framing = new Set(["content-length", "transfer-encoding", "connection", "keep-alive"]);
