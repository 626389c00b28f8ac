import { createSseReader } from "@roomhub/protocol";
import type { TestHub } from "../support/hub/start-test-hub.ts";
import type { Person } from "./room-model.ts";

/** One client's request, and what came of it. */
export interface Asked {
  tag: string;
  room: number;
  selector: string;
  isStream: boolean;
  /** who had it, in order, once for each attempt */
  holders: Person[];
  /** who has it now */
  holder: Person | undefined;
  /** those of its holder when it came there */
  credentials: Person["credentials"] | undefined;
  /** those that were loading when they were called, once for each such attempt */
  waitedFor: Person[];
  /** undefined while it is under way */
  end: ClientEnd | undefined;
  abort(): void;
}

interface ClientEnd {
  kind: "complete" | "failed" | "aborted";
  /** undefined when no head came */
  status: number | undefined;
  requestId: string | undefined;
  text: string;
}

export function ask(
  hub: TestHub,
  code: string,
  question: Pick<Asked, "tag" | "room" | "selector" | "isStream"> & { isV1: boolean },
): Asked {
  const { isV1, ...rest } = question;
  const { tag, selector, isStream } = question;
  const controller = new AbortController();
  const asked: Asked = {
    ...rest,
    holders: [],
    holder: undefined,
    credentials: undefined,
    waitedFor: [],
    end: undefined,
    abort: () => controller.abort(),
  };
  const base = isV1 ? `/v1/rooms/${code}` : `/rooms/${code}/v1`;
  void read(
    hub.fetch(`${base}/chat/completions`, {
      json: { model: selector, stream: isStream, user: tag, messages: [] },
      signal: controller.signal,
    }),
  ).then((end) => {
    asked.end = controller.signal.aborted ? { ...end, kind: "aborted" } : end;
  });
  return asked;
}

async function read(fetched: Promise<Response>): Promise<ClientEnd> {
  let status: number | undefined;
  let requestId: string | undefined;
  try {
    const answer = await fetched;
    ({ status } = answer);
    requestId = answer.headers.get("x-request-id") ?? undefined;
    const text = await answer.text();
    return {
      kind: status < 400 && isWhole(answer, text) ? "complete" : "failed",
      status,
      requestId,
      text,
    };
  } catch {
    return { kind: "failed", status, requestId, text: "" }; // no response, or half of one
  }
}

/** As an SDK reads it: `[DONE]`, and nothing before it that is an error. */
function isWhole(answer: Response, text: string): boolean {
  if (!answer.headers.get("content-type")?.startsWith("text/event-stream")) return true;
  const datas: string[] = [];
  const reader = createSseReader(
    ({ data }) => datas.push(data),
    () => undefined,
  );
  reader.feed(text);
  return datas.at(-1) === "[DONE]" && !datas.some((data) => data.startsWith('{"error"'));
}
