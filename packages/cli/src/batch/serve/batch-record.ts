import { z } from "zod";

const Status = z.enum([
  "validating",
  "failed",
  "in_progress",
  "finalizing",
  "completed",
  "expired",
  "cancelling",
  "cancelled",
]);
export type BatchStatus = z.infer<typeof Status>;

/** What a batch of the API is, and how far; times are in epoch ms. */
export const BatchRecord = z.object({
  version: z.literal(1),
  id: z.string(),
  endpoint: z.string(),
  /** value of `model` of all requests; absent when they have several */
  model: z.string().optional(),
  inputFileId: z.string(),
  completionWindow: z.string(),
  metadata: z.record(z.string(), z.string()).nullable(),
  status: Status,
  createdMs: z.int(),
  expiresMs: z.int(),
  /** when it came to each status */
  at: z.partialRecord(Status, z.int()),
  /** as they were last written; the lines of the results are the truth */
  counts: z.object({ total: z.int(), completed: z.int(), failed: z.int() }),
  /** of files that are there once the batch has ended, if they have any lines */
  outputFileId: z.string(),
  errorFileId: z.string(),
  hasOutput: z.boolean(),
  hasErrors: z.boolean(),
  errors: z.array(
    z.object({
      code: z.string(),
      line: z.int().nullable(),
      message: z.string(),
      param: z.string().nullable(),
    }),
  ),
});
export type BatchRecord = z.infer<typeof BatchRecord>;

/** Those in which nothing changes any more. */
export const endedStatuses: ReadonlySet<BatchStatus> = new Set([
  "failed",
  "completed",
  "expired",
  "cancelled",
]);

/** @param more - what else changes with the status */
export function inStatus(
  record: BatchRecord,
  status: BatchStatus,
  nowMs: number,
  more: Partial<BatchRecord> = {},
): BatchRecord {
  return { ...record, ...more, status, at: { ...record.at, [status]: nowMs } };
}

/** A batch as the API shows it; what there is not is null. */
export function batchObject(record: BatchRecord) {
  const { id, endpoint, model, status, at, errors, metadata, counts } = record;
  const secondsOf = (ms: number | undefined) => (ms === undefined ? null : Math.floor(ms / 1_000));
  return {
    ...{ id, object: "batch", endpoint },
    ...(model === undefined ? {} : { model }),
    errors: errors.length === 0 ? null : { object: "list", data: errors },
    input_file_id: record.inputFileId,
    completion_window: record.completionWindow,
    status,
    output_file_id: record.hasOutput ? record.outputFileId : null,
    error_file_id: record.hasErrors ? record.errorFileId : null,
    created_at: secondsOf(record.createdMs),
    in_progress_at: secondsOf(at.in_progress),
    expires_at: secondsOf(record.expiresMs),
    finalizing_at: secondsOf(at.finalizing),
    completed_at: secondsOf(at.completed),
    failed_at: secondsOf(at.failed),
    expired_at: secondsOf(at.expired),
    cancelling_at: secondsOf(at.cancelling),
    cancelled_at: secondsOf(at.cancelled),
    request_counts: counts,
    metadata,
  };
}
