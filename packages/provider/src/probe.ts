import type { ProviderCall, ProviderRequest, ProviderSink } from "./exchange.ts";

/** What a look at `GET {base}/models` found. */
export interface ProbeResult {
  /** any HTTP answer counts */
  answered: boolean;
  status?: number;
  /** nothing answered in time, which is no proof that nothing is there: a model may be loading */
  isTimeout?: boolean;
  /** ids, when the answer was a models list */
  models?: string[];
  /** what a person should know: why there was no answer, or what the answer complained about */
  problem?: string;
}

type Call = (request: ProviderRequest, sink: ProviderSink) => ProviderCall;

const maxBodyBytes = 1024 * 1024;
const maxModels = 1_000;
const maxProblemLength = 300;

/**
 * Asks a provider for its models. Never throws, never loads a model.
 *
 * Fingerprints of particular servers, and what they imply for `capabilities`, belong beside this call.
 */
export function probeModels(
  call: Call,
  baseUrl: string,
  headers: Record<string, string>,
  timeoutMs: number,
): Promise<ProbeResult> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    let status: number | undefined;
    const timer = setTimeout(() => {
      running.cancel();
      finish({
        isTimeout: true,
        problem: `no answer to GET ${baseUrl}/models within ${timeoutMs / 1_000} s`,
      });
    }, timeoutMs);
    const running = call(
      { baseUrl, method: "GET", path: "/models", headers, body: undefined },
      {
        onHead(head) {
          status = head.status;
        },
        onData(chunk) {
          bytes += chunk.length;
          if (bytes <= maxBodyBytes) {
            parts.push(chunk);
          } else {
            running.cancel();
            finish({ problem: "the models list is larger than 1 MiB" });
          }
          return true;
        },
        onEnd: () => finish(readModels(Buffer.concat(parts), status ?? 0)),
        onFailure: (failure) => finish({ problem: failure.message }),
        onClosed() {},
      },
    );

    function finish(found: Omit<ProbeResult, "answered" | "status">): void {
      clearTimeout(timer);
      resolve({
        answered: status !== undefined,
        ...(status === undefined ? {} : { status }),
        ...found,
      });
    }
  });
}

function readModels(body: Buffer, status: number): Pick<ProbeResult, "models" | "problem"> {
  const value = parseObject(body);
  const complaint = value?.["error"];
  if (complaint !== undefined && complaint !== null) {
    return { problem: `GET /models answered ${status} with an error: ${textOf(complaint)}` };
  }
  if (status >= 300) return { problem: `GET /models answered ${status}` };
  const data = value?.["data"];
  if (!Array.isArray(data)) return { problem: "GET /models did not answer with a models list" };
  const models: string[] = [];
  for (const entry of data.slice(0, maxModels) as unknown[]) {
    const id = (entry as { id?: unknown } | null)?.id;
    if (typeof id === "string") models.push(id);
  }
  return { models };
}

function parseObject(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    // Not JSON: an HTML page or nothing at all. The status is what counts then.
    return undefined;
  }
}

function textOf(complaint: unknown): string {
  const message =
    typeof complaint === "object" && complaint !== null && "message" in complaint
      ? complaint.message
      : complaint;
  const text = typeof message === "string" ? message : "without a message";
  return text.slice(0, maxProblemLength);
}
