import { clientText } from "@roomhub/protocol";
import type { EndedRequest } from "@roomhub/room-state";
import type { VNode } from "preact";
import { CopyButton } from "../parts/copy-button.tsx";
import { clockText, durationText, plural } from "../parts/figure-text.ts";

type Failure = EndedRequest & { kind: "failed" };

/** The last failures: where each happened, the whole message, and the next step. */
export function FailureDetail({ failures }: { failures: readonly Failure[] }): VNode | null {
  if (failures.length === 0) return null;
  return (
    <section class="failures" aria-labelledby="failures-title">
      <h3 id="failures-title">Last failures</h3>
      {failures.map((failure) => (
        <details key={failure.requestId}>
          <summary>
            <time>{clockText(failure.endedMs)}</time> <code>{failure.code}</code> at {failure.stage}
            , {clientText(failure.client) ?? "no name"}
          </summary>
          <p>{failure.error}</p>
          {failure.hint === undefined ? null : (
            <p>
              <b>Next: {failure.hint}</b>
            </p>
          )}
          <p class="quiet">
            {failure.participantId ?? "no participant"}, {failure.model ?? failure.selector},{" "}
            {plural(failure.attempts, "attempt")}, {durationText(failure.queueMs)} in the queue,{" "}
            {failure.requestId}
          </p>
          <CopyButton label="Copy as JSON" text={() => JSON.stringify(failure, null, 2)} />
        </details>
      ))}
    </section>
  );
}
