import type { RequestStream, ResponseHandler } from "./hub-stream.ts";
import type { ResetCode } from "../wire/reset-code.ts";

/** A request that was not sent: its handler is called after the caller has the stream. */
export function refuseStream(
  handler: ResponseHandler,
  code: ResetCode,
  reason: string,
  onError: (error: unknown) => void,
): RequestStream {
  let isWanted = true;
  setImmediate(() => {
    try {
      if (isWanted) handler.onReset(code, reason);
    } catch (error) {
      onError(error);
    }
    try {
      handler.onClosed();
    } catch (error) {
      onError(error);
    }
  });
  return {
    isBodyTaken: true,
    resume() {},
    reset() {
      isWanted = false;
    },
  };
}
