import type { Delivery } from "./response/delivery.ts";
import type { DispatchDeps, InferenceCall } from "./inference-call.ts";
import { rounded } from "./request-facts.ts";

const progressGapMs = 1_000;

/**
 * Shows the progress of a response to streams with detail. Contract §5, "Detail". Created when the first of them opens.
 */
export class RequestProgress {
  readonly #deps: DispatchDeps;
  readonly #call: InferenceCall;
  readonly #delivery: Delivery;
  /** when progress was last shown */
  #shownMs: number;
  #shownTokens = 0;

  constructor(deps: DispatchDeps, call: InferenceCall, delivery: Delivery) {
    this.#deps = deps;
    this.#call = call;
    this.#delivery = delivery;
    this.#shownMs = deps.nowMs();
  }

  /** A chunk has passed that may have the first content. */
  first(participantId: string): void {
    const { contentMs } = this.#delivery;
    if (contentMs === undefined) return;
    const { requestId, room, startedMs } = this.#call;
    const ttftMs = rounded(contentMs - startedMs);
    this.#deps.emit.requestFirst(room.code, { requestId, participantId, ttftMs });
    this.#shownMs = this.#deps.nowMs();
  }

  /** A further chunk has passed. */
  further(): void {
    const { outputTokens } = this.#delivery;
    if (outputTokens === this.#shownTokens) return;
    const nowMs = this.#deps.nowMs();
    if (nowMs - this.#shownMs < progressGapMs) return;
    const { requestId, room } = this.#call;
    if (!this.#deps.emit.requestProgress(room.code, { requestId, outputTokens })) return;
    this.#shownMs = nowMs;
    this.#shownTokens = outputTokens;
  }
}
