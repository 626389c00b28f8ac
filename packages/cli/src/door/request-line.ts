import { clockTime, type Colors, safe, shortDuration } from "../terminal/text.ts";
import type { Row } from "../terminal/row-feed.ts";
import type { DoorRequest } from "./door.ts";

export function requestRow(request: DoorRequest, nowMs: number, colors: Colors): Row {
  const { status = 499, problem } = request;
  return {
    render: () => requestLine(request, nowMs, colors),
    isFailed: problem !== undefined || status >= 400,
  };
}

/** `12:03:04  POST /v1/chat/completions  200  1.2 s  4.1 kB` */
function requestLine(request: DoorRequest, nowMs: number, colors: Colors): string {
  const { method, path, status, tookMs, bytes, problem } = request;
  const fields = [
    colors.dim(clockTime(nowMs)),
    safe(`${method} ${path}`),
    statusText(status, colors),
    shortDuration(tookMs),
    sizeText(bytes),
  ];
  if (problem !== undefined) fields.push(colors.yellow(safe(problem)));
  return fields.join("  ");
}

function statusText(status: number | undefined, colors: Colors): string {
  if (status === undefined) return colors.yellow("—");
  return status < 400 ? String(status) : colors.red(String(status));
}

/** `312 B`, `4.1 kB`, `2.0 MB` */
function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000
    ? `${(bytes / 1_000).toFixed(1)} kB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
