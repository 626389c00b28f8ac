import { readFileSync } from "node:fs";
import type { PlainWish } from "../../tests/support/providers/fast-provider.ts";

/** A server that gets requests, and whose cost is measured. */
export interface Target {
  name: string;
  port: number;
  path: string;
  /** names in lower case; they replace what every request has */
  headers: Record<string, string>;
  /** one after the other, connection by connection */
  models: string[];
  /** its cost is the CPU time of this process */
  pid: number;
  /** of the participant behind a hub; undefined where there is none, or nothing is measured of it */
  participantPid?: number | undefined;
  /** whatever its certificate is */
  isTls?: boolean | undefined;
  /** whether it relays bodies byte for byte */
  isTransparent: boolean;
}

/** What a request is like, and which response it requests. */
export interface RequestShape {
  /** one JSON response when absent */
  plain?: PlainWish | undefined;
  /** the request's body, about */
  bodyBytes: number;
  /** what its message has: source code, an image; one letter when absent */
  content?: "code" | "image" | undefined;
}

/** With as many quotes and line ends as code has. */
const code = readFileSync(new URL("load.ts", import.meta.url), "utf8");

/** The bytes of one whole request. */
export function requestBytes(target: Target, model: string, shape: RequestShape): Buffer {
  const body = Buffer.from(bodyText(model, shape));
  const headers = {
    ...{ host: "hub.example", "content-type": "application/json", authorization: "Bearer any" },
    ...{ "content-length": body.length, ...target.headers },
  };
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST ${target.path} HTTP/1.1\r\n${fields.join("")}\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

function bodyText(model: string, { plain, bodyBytes, content }: RequestShape): string {
  const isStream = plain !== undefined && !("jsonBytes" in plain);
  const withText = (text: string) =>
    JSON.stringify({
      ...{ model, stream: isStream, plain },
      messages: [{ role: "user", content: content === "image" ? [imageOf(text)] : text }],
    });
  const lacking = Math.max(0, bodyBytes - withText("").length);
  if (content !== "code") return withText("x".repeat(lacking));
  const escapedBytes = JSON.stringify(code).length - 2;
  return withText(
    code.repeat(lacking / escapedBytes + 1).slice(0, (lacking * code.length) / escapedBytes),
  );
}

function imageOf(base64: string): object {
  return { type: "image_url", image_url: { url: `data:image/png;base64,${base64}` } };
}
