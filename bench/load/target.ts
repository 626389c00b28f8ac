import type { PlainWish } from "../../tests/support/providers/fast-provider.ts";

/** A server that gets requests, and whose cost is measured. */
export interface Target {
  name: string;
  port: number;
  path: string;
  headers: Record<string, string>;
  /** one after the other, connection by connection */
  models: string[];
  /** its cost is the CPU time of this process */
  pid: number;
  /** of the participant behind a hub; undefined where there is none, or nothing is measured of it */
  participantPid?: number | undefined;
  /** whether it relays bodies byte for byte */
  isTransparent: boolean;
}

/** What a request is like, and which response it requests. */
export interface RequestShape {
  /** one JSON response when absent */
  plain?: PlainWish | undefined;
  /** the request's body, about */
  bodyBytes: number;
}

/** The bytes of one whole request. */
export function requestBytes(target: Target, model: string, shape: RequestShape): Buffer {
  const body = Buffer.from(bodyText(model, shape));
  const head = [
    `POST ${target.path} HTTP/1.1`,
    "host: hub.example",
    "content-type: application/json",
    "authorization: Bearer any",
    `content-length: ${body.length}`,
    ...Object.entries(target.headers).map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]);
}

function bodyText(model: string, { plain, bodyBytes }: RequestShape): string {
  const withContent = (content: string) =>
    JSON.stringify({
      ...{ model, stream: plain !== undefined, plain },
      messages: [{ role: "user", content }],
    });
  return withContent("x".repeat(Math.max(0, bodyBytes - withContent("").length)));
}
