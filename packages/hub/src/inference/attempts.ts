import type { Participant } from "../domain/participant.ts";
import type { HubError } from "../errors.ts";
import { pathIsGone } from "./routing-errors.ts";
import { Attempt, type AttemptOptions, type AttemptOwner } from "./attempt.ts";
import type { DispatchDeps, InferenceCall } from "./inference-call.ts";
import type { Routing } from "./routing.ts";
import type { Upstream } from "./upstream.ts";

/** The attempts of one request, one after the other. Contract §3, "Retry". */
export class Attempts {
  readonly #deps: DispatchDeps;
  readonly #call: InferenceCall;
  readonly #routing: Routing;
  #count = 0;
  #current: Attempt | undefined;
  /** An earlier participant may still be reading the request's body. */
  #isBodyLent = false;

  constructor(deps: DispatchDeps, call: InferenceCall, routing: Routing) {
    this.#deps = deps;
    this.#call = call;
    this.#routing = routing;
  }

  /** made so far, as the client counts them */
  get count(): number {
    return this.#count;
  }

  /** the one that runs, or ran last; undefined between two */
  get current(): Attempt | undefined {
    return this.#current;
  }

  /** No buffer of the request's body is read any more. */
  get isBodyTaken(): boolean {
    return !this.#isBodyLent && (this.#current?.isBodyTaken ?? true);
  }

  /** @throws HubError when its path is closed: the first failure, where there was one */
  upstreamFor(participant: Participant): Upstream {
    const upstream = this.#deps.upstreamFor(participant);
    if (upstream !== undefined) return upstream;
    throw this.#routing.firstFailure?.error ?? pathIsGone(participant);
  }

  /** The next attempt, which the client sees. */
  next(): void {
    this.#count++;
  }

  /** It was none: nothing reached the provider. */
  takeBack(): void {
    this.#count--;
  }

  /** An attempt that is still to be opened. */
  create(
    participant: Participant,
    owner: AttemptOwner,
    { requestsUsage, isRepeated }: Pick<AttemptOptions, "requestsUsage" | "isRepeated">,
  ): Attempt {
    this.leave();
    this.#current = new Attempt(participant, owner, {
      sender: this.#call.sender,
      queues: this.#deps.queues,
      nowMs: this.#deps.nowMs,
      requestsUsage,
      isRepeated,
      scrubber: this.#deps.scrubberOf(participant),
      promptBytes: this.#routing.prompt.bytes,
      form: this.#routing.form,
      coldBytes: this.#routing.coldBytesOf(participant),
    });
    return this.#current;
  }

  open(attempt: Attempt, upstream: Upstream): void {
    const { request, hops, sender } = this.#call;
    const passed = [...hops, this.#deps.bootId];
    const { participant, requestsUsage } = attempt;
    attempt.open(upstream, { ...request.requestFor(participant, passed, requestsUsage), sender });
  }

  /** No other participant is ready to do better than this attempt: what went wrong first counts. */
  backToFirstFailure(attempt: Attempt, error: HubError): HubError {
    const { firstFailure } = this.#routing;
    if (firstFailure === undefined) return error;
    attempt.cancel(error.message);
    this.leave();
    return firstFailure.error;
  }

  /** The request goes on without the current attempt. */
  leave(): void {
    if (this.#current === undefined) return;
    this.#isBodyLent ||= !this.#current.isBodyTaken;
    this.#current = undefined;
  }
}
