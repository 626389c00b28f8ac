import { type FileHandle, open, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { FormScanner } from "@roomhub/hub";
import { boundaryOf, giveBack } from "@roomhub/protocol";
import { ApiError, invalidValue } from "./api-error.ts";
import type { FileShelf, StoredFile } from "./file-shelf.ts";

/** 512 MB, as OpenAI has it. */
const maxFileBytes = 512 * 1024 * 1024;
/** The most bytes that a form may have besides its file. */
const maxFormBytes = 1024 * 1024;
const maxValueBytes = 1_024;
const longestName = 255;

/**
 * Receives a form with a file of requests, which goes to the disk as it comes: what the disk does not take yet, the client
 * does not send yet.
 *
 * @returns when the file outlives a power cut
 * @throws ApiError, NodeJS.ErrnoException; nothing is left of the file then
 */
export async function receiveUpload(
  request: IncomingMessage,
  files: FileShelf,
): Promise<StoredFile> {
  const { "content-type": type = "", "content-length": length = "0" } = request.headers;
  const boundary = boundaryOf(type);
  if (!/^multipart\/form-data\s*;/i.test(type) || boundary === undefined) throw invalidForm();
  if (Number(length) > maxFileBytes + maxFormBytes) throw tooLarge();
  const id = files.newId();
  const file = await open(files.pathOf(id), "wx", 0o600);
  try {
    const filename = await writeFile(request, boundary, file);
    return await files.publish({ id, filename, purpose: "batch" });
  } catch (error) {
    await rm(files.pathOf(id), { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** @returns the name of the file */
async function writeFile(
  request: IncomingMessage,
  boundary: string,
  file: FileHandle,
): Promise<string> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let formBytes = 0;
  const scanner = new FormScanner(boundary, wanted, maxValueBytes, (piece) => pieces.push(piece));
  // A request that is refused is read to its end elsewhere: its response would be lost with the socket.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    if (!scanner.push(chunk)) throw invalidForm(scanner.problem);
    formBytes += chunk.length;
    for (const piece of pieces) {
      bytes += piece.length;
      if (bytes > maxFileBytes) throw tooLarge();
      await file.appendFile(piece);
    }
    pieces = [];
    giveBack(chunk);
    if (formBytes - bytes > maxFormBytes) throw tooLarge();
  }
  if (!scanner.end()) throw invalidForm(scanner.problem);
  return nameOf(scanner, bytes);
}

const wanted = ["file", "purpose", "expires_after[anchor]", "expires_after[seconds]"];

function nameOf({ fields }: FormScanner, bytes: number): string {
  const [file, ...others] = fields.filter(({ name }) => name === "file");
  if (file?.fileName === undefined || others.length > 0) {
    throw invalidValue(
      "file",
      "The form has not exactly one file.",
      "send it: -F file=@evals.jsonl",
    );
  }
  const purposes = fields.filter(({ name }) => name === "purpose").map(({ value }) => value);
  if (purposes.length !== 1 || purposes[0] !== "batch") {
    throw invalidValue(
      "purpose",
      "Only files with the purpose batch are kept here.",
      'send purpose="batch"',
    );
  }
  if (fields.some(({ name }) => name.startsWith("expires_after"))) {
    throw invalidValue(
      "expires_after",
      "Files are kept until they are deleted.",
      "leave expires_after out, and delete the file: DELETE /v1/files/ID",
    );
  }
  if (bytes === 0) throw invalidValue("file", "The file is empty.", "send one with requests in it");
  return file.fileName.slice(0, longestName);
}

function invalidForm(problem = "is not multipart/form-data with a boundary"): ApiError {
  return new ApiError({
    ...{ status: 400, code: "invalid_form" },
    message: `The body ${problem}.`,
    hint: "let the client make the form: curl -F purpose=batch -F file=@evals.jsonl",
  });
}

function tooLarge(): ApiError {
  return new ApiError({
    ...{ status: 413, code: "file_too_large", param: "file" },
    message: `The file is larger than ${maxFileBytes / 1024 / 1024} MiB.`,
    hint: "split it, and create a batch for each part",
  });
}
