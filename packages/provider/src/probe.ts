import { type CallProvider, type Look, lookAt, objectIn } from "./look.ts";

/** What a look at `GET {base}/models` found. */
export interface ProbeResult {
  /** any HTTP answer counts */
  answered: boolean;
  status?: number;
  /** nothing answered in time, which is no proof that nothing is there: a model may be loading */
  isTimeout?: boolean;
  /** ids, when the answer was a models list */
  models?: string[];
  /** `owned_by` of the first model: some servers tell by it who they are */
  ownedBy?: string;
  /** the `server` header, for the same reason */
  server?: string;
  /** what a person should know: why there was no answer, or what the answer complained about */
  problem?: string;
}

const maxModels = 1_000;
const maxProblemLength = 300;

/** Asks a provider for its models. Never throws, never loads a model. */
export async function probeModels(
  call: CallProvider,
  baseUrl: string,
  headers: Record<string, string>,
  timeoutMs: number,
): Promise<ProbeResult> {
  const request = { baseUrl, method: "GET", path: "/models", headers, body: undefined };
  const look = await lookAt(call, request, timeoutMs);
  return { ...headOf(look), ...bodyOf(look, baseUrl, timeoutMs) };
}

function headOf({ head }: Look): ProbeResult {
  if (head === undefined) return { answered: false };
  const server = head.headers["server"];
  return { answered: true, status: head.status, ...(server === undefined ? {} : { server }) };
}

function bodyOf(look: Look, baseUrl: string, timeoutMs: number): Partial<ProbeResult> {
  switch (look.problem?.kind) {
    case "timeout":
      return {
        isTimeout: true,
        problem: `no answer to GET ${baseUrl}/models within ${timeoutMs / 1_000} s`,
      };
    case "too-large":
      return { problem: "the models list is larger than 1 MiB" };
    case "failed":
      return { problem: look.problem.failure.message };
    case undefined:
      return readModels(look.body, look.head?.status ?? 0);
  }
}

function readModels(body: Buffer, status: number): Partial<ProbeResult> {
  const value = objectIn(body);
  const complaint = value?.["error"];
  if (complaint !== undefined && complaint !== null) {
    return { problem: `GET /models answered ${status} with an error: ${textOf(complaint)}` };
  }
  if (status >= 300) return { problem: `GET /models answered ${status}` };
  const data = value?.["data"];
  if (!Array.isArray(data)) return { problem: "GET /models did not answer with a models list" };
  const entries = data.slice(0, maxModels) as ({ id?: unknown; owned_by?: unknown } | null)[];
  const models = entries.map((entry) => entry?.id).filter((id) => typeof id === "string");
  const ownedBy = entries[0]?.owned_by;
  return { models, ...(typeof ownedBy === "string" ? { ownedBy } : {}) };
}

function textOf(complaint: unknown): string {
  const message =
    typeof complaint === "object" && complaint !== null && "message" in complaint
      ? complaint.message
      : complaint;
  const text = typeof message === "string" ? message : "without a message";
  return text.slice(0, maxProblemLength);
}
