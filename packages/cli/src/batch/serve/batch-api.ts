import { createReadStream } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { parseObject } from "@roomhub/protocol";
import { z } from "zod";
import { sendRefusal } from "../../door/refuse.ts";
import { parseDuration } from "../../hosting/limit-value.ts";
import { surfaces } from "../run/batch-input.ts";
import { ApiError, invalidValue } from "./api-error.ts";
import type { BatchJobs } from "./batch-jobs.ts";
import { batchObject } from "./batch-record.ts";
import { fileObject, type FileShelf } from "./file-shelf.ts";
import { receiveUpload } from "./upload.ts";

export interface BatchApiOptions {
  files: FileShelf;
  jobs: BatchJobs;
  /** a failure that the caller did not cause: a full disk, a bug */
  onFailure: (error: unknown) => void;
}

const maxBodyBytes = 64 * 1024;
const longestWindowMs = 30 * 24 * 3_600_000;

/**
 * The paths below `/v1/files` and `/v1/batches` of OpenAI's API. docs/reference/batch.md
 *
 * @returns serves a request; false for one with another path
 */
export function createBatchApi(
  options: BatchApiOptions,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    const path = url.pathname.replace(/\/$/, "");
    if (!/^\/v1\/(?:files|batches)(?:\/|$)/.test(path)) return false;
    void serve(options, { request, response, path, query: url.searchParams });
    return true;
  };
}

interface Call {
  request: IncomingMessage;
  response: ServerResponse;
  path: string;
  query: URLSearchParams;
}

type Handler = (options: BatchApiOptions, call: Call, id: string) => Promise<object | undefined>;

/** `undefined` as a result: the response was sent. */
const routes: [method: string, path: RegExp, Handler][] = [
  ["POST", /^\/v1\/files$/, postFile],
  ["GET", /^\/v1\/files$/, async ({ files }, { query }) => listFiles(files, query)],
  ["GET", /^\/v1\/files\/([^/]+)$/, async ({ files }, _call, id) => fileObject(files.get(id))],
  ["DELETE", /^\/v1\/files\/([^/]+)$/, deleteFile],
  ["GET", /^\/v1\/files\/([^/]+)\/content$/, getContent],
  ["POST", /^\/v1\/batches$/, postBatch],
  ["GET", /^\/v1\/batches$/, async ({ jobs }, { query }) => listBatches(jobs, query)],
  ["GET", /^\/v1\/batches\/([^/]+)$/, async ({ jobs }, _call, id) => batchObject(jobs.get(id))],
  [
    "POST",
    /^\/v1\/batches\/([^/]+)\/cancel$/,
    async ({ jobs }, _call, id) => batchObject(await jobs.cancel(id)),
  ],
];

async function serve(options: BatchApiOptions, call: Call): Promise<void> {
  const { request, response, path } = call;
  try {
    const fitting = routes.filter(([, pattern]) => pattern.test(path));
    const [, pattern, handler] = fitting.find(([method]) => method === request.method) ?? [];
    if (pattern === undefined || handler === undefined) throw noRoute(call, fitting.length > 0);
    const result = await handler(options, call, pattern.exec(path)?.[1] ?? "");
    if (result !== undefined) sendJson(response, result);
  } catch (error) {
    // The client has left, or its response has begun: closing the connection is the only way to report the failure.
    if (response.destroyed || response.headersSent) {
      response.destroy();
      return;
    }
    sendRefusal(response, refusalOf(options, error), {});
  }
}

function refusalOf({ onFailure }: BatchApiOptions, error: unknown) {
  if (error instanceof ApiError) return error.refusal;
  onFailure(error);
  if ((error as NodeJS.ErrnoException).code === "ENOSPC") {
    return {
      ...{ status: 507, code: "insufficient_storage", message: "The disk is full." },
      hint: "delete files that you no longer need, then send the request again",
    };
  }
  return {
    ...{ status: 500, code: "internal_error", message: "The request failed here." },
    hint: "the terminal of roomhub batch serve says why",
  };
}

function noRoute({ request, path }: Call, hasPath: boolean): ApiError {
  return new ApiError({
    ...{ status: hasPath ? 405 : 404, code: hasPath ? "method_not_allowed" : "not_found" },
    message: `There is no ${request.method} ${path} here.`,
    hint: "docs/reference/batch.md lists what there is",
  });
}

function sendJson(response: ServerResponse, value: object): void {
  const body = JSON.stringify(value);
  response.writeHead(200, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
  });
  response.end(body);
  response.req.resume();
}

async function postFile({ files }: BatchApiOptions, { request, response }: Call): Promise<object> {
  if (request.headers.expect !== undefined) response.writeContinue();
  return fileObject(await receiveUpload(request, files));
}

async function deleteFile(
  { files, jobs }: BatchApiOptions,
  _call: Call,
  id: string,
): Promise<object> {
  files.get(id);
  if (jobs.isUsing(id)) {
    throw new ApiError({
      ...{ status: 409, code: "file_in_use", param: "id" },
      message: `A batch that has not ended uses the file ${id}.`,
      hint: "cancel the batch, or wait for its end",
    });
  }
  await files.delete(id);
  return { id, object: "file", deleted: true };
}

async function getContent({ files }: BatchApiOptions, { response }: Call, id: string) {
  const { bytes } = files.get(id);
  const content = createReadStream(files.pathOf(id));
  response.writeHead(200, {
    "content-type": "application/octet-stream",
    "content-length": bytes,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  await pipeline(content, response);
  return undefined;
}

const CreateBatch = z.object({
  input_file_id: z.string(),
  endpoint: z.string(),
  completion_window: z.string(),
  metadata: z
    .record(z.string().max(64), z.string().max(512))
    .refine((pairs) => Object.keys(pairs).length <= 16, "must have at most 16 pairs")
    .nullish(),
  output_expires_after: z
    .null("is not supported: files are kept until they are deleted")
    .optional(),
});

async function postBatch({ files, jobs }: BatchApiOptions, { request, response }: Call) {
  if (request.headers.expect !== undefined) response.writeContinue();
  const { data, error } = CreateBatch.safeParse(parseObject(await bodyOf(request)) ?? {});
  if (data === undefined) {
    const [issue] = error.issues;
    const param = String(issue?.path[0] ?? "");
    throw invalidValue(param, `${param} is not valid: ${issue?.message}.`, `correct ${param}`);
  }
  const { endpoint, completion_window: completionWindow, metadata = null } = data;
  if (!surfaces.has(endpoint)) {
    const known = [...surfaces.keys()].join(", ");
    throw invalidValue("endpoint", `Rooms have no ${endpoint}.`, `use one of ${known}`);
  }
  const windowMs = parseDuration(completionWindow) ?? 0;
  if (windowMs < 1 || windowMs > longestWindowMs) {
    const message = `The completion window ${JSON.stringify(completionWindow)} is not one.`;
    throw invalidValue("completion_window", message, "use 24h, or another time up to 30d");
  }
  const { id: inputFileId } = files.get(data.input_file_id);
  const about = { endpoint, inputFileId, completionWindow, metadata };
  return batchObject(await jobs.create(about, windowMs));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) {
      throw new ApiError({
        ...{ status: 413, code: "request_too_large" },
        message: `The body is larger than ${maxBodyBytes} bytes.`,
        hint: "shorten its metadata",
      });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function listFiles(files: FileShelf, query: URLSearchParams): object {
  const purpose = query.get("purpose");
  const all = files.list().filter((file) => purpose === null || file.purpose === purpose);
  return page(all, query, { most: 10_000, usual: 10_000 }, fileObject);
}

function listBatches(jobs: BatchJobs, query: URLSearchParams): object {
  return page(jobs.list(), query, { most: 100, usual: 20 }, batchObject);
}

/** @param newestFirst - all there are */
function page<T extends { id: string }>(
  newestFirst: readonly T[],
  query: URLSearchParams,
  { most, usual }: { most: number; usual: number },
  show: (item: T) => object,
): object {
  const limit = Number(query.get("limit") ?? usual);
  if (!Number.isInteger(limit) || limit < 1 || limit > most) {
    throw invalidValue("limit", "The limit is not valid.", `use a number from 1 to ${most}`);
  }
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") {
    throw invalidValue("order", "The order is not valid.", "use asc or desc");
  }
  const all = order === "asc" ? newestFirst.toReversed() : newestFirst;
  const after = query.get("after");
  const start = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
  if (after !== null && start === 0) {
    throw invalidValue("after", `There is no ${JSON.stringify(after)}.`, "begin without after");
  }
  const shown = all.slice(start, start + limit);
  return {
    object: "list",
    data: shown.map(show),
    first_id: shown[0]?.id ?? null,
    last_id: shown.at(-1)?.id ?? null,
    has_more: start + limit < all.length,
  };
}
