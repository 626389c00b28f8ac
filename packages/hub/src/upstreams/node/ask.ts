import {
  type HubSession,
  type IncomingRequest,
  type RequestBodyHandler,
  RESET_CODES,
  type RequestStream,
} from "@roomhub/tunnel";
import { HubError } from "../../errors.ts";

/** The response of one hub to another. */
export interface LinkResponse {
  status: number;
  /** JSON */
  body: unknown;
}

const maxBodyBytes = 1024 * 1024;
const json = { "content-type": "application/json" };

/** Sends JSON over a link. @throws HubError `peer_unavailable` when no response comes within `timeoutMs` */
export function askHub(
  session: HubSession,
  path: string,
  body: unknown,
  timeoutMs: number,
): Promise<LinkResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let status = 0;
    const timer = setTimeout(() => fail(`did not respond within ${timeoutMs} ms`), timeoutMs);
    const fail = (why: string): void => {
      clearTimeout(timer);
      stream.reset(RESET_CODES.cancelled, why);
      reject(new HubError("peer_unavailable", `The hub at the other end of the link ${why}.`));
    };
    const head = { method: "POST", path, headers: json, protocol: "ask", stream: false };
    const stream: RequestStream = session.open(head, [Buffer.from(JSON.stringify(body ?? null))], {
      onHead: (head) => void (status = head.status),
      onData(chunk) {
        bytes += chunk.length;
        if (bytes > maxBodyBytes) fail("sent more than 1 MiB");
        else chunks.push(Buffer.from(chunk));
        return true;
      },
      onEnd() {
        clearTimeout(timer);
        const received = parse(chunks);
        if (received === undefined) fail("did not send JSON");
        else resolve({ status, body: received.value });
      },
      onReset: (_code, reason) => fail(`could not respond: ${reason}`),
      onClosed() {},
    });
  });
}

/** Collects the JSON that another hub sends, and returns what `respond` resolves with. */
export function respondToHub(
  { body, end, responder }: IncomingRequest,
  respond: (body: unknown) => Promise<LinkResponse>,
  reportBug: (error: unknown) => void,
): RequestBodyHandler {
  const chunks = [Buffer.from(body)];
  let bytes = body.length;
  const onBodyEnd = (): void => {
    const question = parse(chunks);
    if (question === undefined) return responder.reset(RESET_CODES.refused, "not JSON");
    respond(question.value).then(
      ({ status, body }) => {
        responder.head({ status, headers: json });
        responder.write(Buffer.from(JSON.stringify(body ?? null)));
        responder.end();
      },
      (error: unknown) => {
        reportBug(error);
        responder.reset(RESET_CODES.internal, "internal error");
      },
    );
  };
  if (end) onBodyEnd();
  return {
    onBody(chunk) {
      bytes += chunk.length;
      if (bytes > maxBodyBytes) responder.reset(RESET_CODES.refused, "over 1 MiB");
      else chunks.push(Buffer.from(chunk));
      return true;
    },
    onBodyEnd,
    // The other hub no longer waits; what it requested is done all the same.
    onReset: () => responder.end(),
    onDrain() {},
  };
}

function parse(chunks: Buffer[]): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(Buffer.concat(chunks).toString("utf8")) as unknown };
  } catch {
    return undefined; // the caller says what was not JSON
  }
}
