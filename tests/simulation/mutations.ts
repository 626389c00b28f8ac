/** A defect that is planted in one file of the product, to see that a checker notices it. */
export interface Mutation {
  name: string;
  /** from the root of the repository */
  file: string;
  /** occurs there exactly once */
  before: string;
  after: string;
}

/** Those marked with "once" were defects of this repository. */
export const mutations: readonly Mutation[] = [
  {
    name: "a slot is freed twice",
    file: "packages/hub/src/domain/slots.ts",
    before: "place.active--;",
    after: "place.active -= 2;",
  },
  {
    name: "a slot is never freed",
    file: "packages/hub/src/inference/attempt.ts",
    before: "releaseSlot(this.participant, this.#machine, sender, this.#startedMs, isBatch);",
    after: "",
  },
  {
    name: "an event is sent twice",
    file: "packages/hub/src/events/bus.ts",
    before: "if (audience !== undefined) this.#put(audience, idOf(stream), occurrence);",
    after:
      "if (audience !== undefined) for (let n = 0; n < 2; n++) this.#put(audience, idOf(stream), occurrence);",
  },
  {
    name: "a number of an event is left out",
    file: "packages/hub/src/events/bus.ts",
    before: "stream.count++;",
    after: "stream.count += stream.count % 7 === 6 ? 2 : 1;",
  },
  {
    name: "a resume sends one message again",
    file: "packages/tunnel/src/resume/sent-log.ts",
    before: "return this.#messages.slice(this.#index + whole - this.#before);",
    after: "return this.#messages.slice(Math.max(0, this.#index + whole - this.#before - 1));",
  },
  {
    name: "a resume leaves one message out",
    file: "packages/tunnel/src/resume/sent-log.ts",
    before: "return this.#messages.slice(this.#index + whole - this.#before);",
    after: "return this.#messages.slice(this.#index + whole - this.#before + 1);",
  },
  {
    name: "credit is granted twice",
    file: "packages/tunnel/src/streams/credit.ts",
    before: "const available = this.#availableBytes + bytes;",
    after: "const available = this.#availableBytes + 2 * bytes;",
  },
  {
    name: "a generation is not cancelled when its client leaves",
    file: "packages/hub/src/inference/attempt.ts",
    before: "if (!this.#isClosed) this.#call?.cancel(reason);",
    after: "reason;",
  },
  {
    name: "a request has an end from each of two hubs (once)",
    file: "packages/hub/src/events/away-events.ts",
    before: "if (this.#hasEnded(requestId)) return false;",
    after: "",
  },
  {
    name: "a hub dials the same home without a pause (once)",
    file: "packages/hub/src/http/hops/entry-places.ts",
    before: "if (!mustTake && isSame(home, before)) await pause(sameHomeAgainMs);",
    after: "",
  },
  {
    name: "a request is sent again after its model server worked on it (once)",
    file: "packages/provider/src/call/exchange.ts",
    before: "const staleSocketMs = 1_000;",
    after: "const staleSocketMs = 1_000_000;",
  },
  {
    name: "an fsync of a file is left out",
    file: "packages/hub/src/storage/whole-file.ts",
    before: "await file.sync();",
    after: "",
  },
  {
    name: "a room is confirmed before it is stored (once)",
    file: "packages/hub/src/operations/rooms.ts",
    before: "if (await context.rooms.keep(room)) return true;",
    after: "void context.rooms.keep(room);\n    return true;",
  },
  {
    name: "the first heartbeat at the next home ends the wait for the tunnel (once)",
    file: "packages/hub/src/operations/homes/returning.ts",
    before: "returning.isHeard === true ? undefined : { ...returning, isHeard: true };",
    after: "undefined;",
  },
  {
    name: "a batch takes the slot that its model keeps",
    file: "packages/hub/src/domain/placement/spare-slots.ts",
    before: "if (!this.#keepsSlots) return true;",
    after: "return true;",
  },
  {
    name: "a home believes its lease after another hub has taken the room",
    file: "packages/hub/src/cluster/homes/room-home.ts",
    before: "if (!isSameHome(stored.home, own.home)) return yieldTo(stored, false);",
    after: "if (!isSameHome(stored.home, own.home)) return stay(state);",
  },
  {
    name: "what was lost is not told to the next run of the same hub (once)",
    file: "packages/hub/src/events/away-events.ts",
    before: "(home !== undefined && home.bootId !== from?.bootId)",
    after: "(home !== undefined && home.hubId !== from?.hubId)",
  },
  {
    name: "an agent that joins again after its hub ended counts as there (once)",
    file: "packages/hub/src/operations/homes/returning.ts",
    before: "return returning !== undefined && isTunnelOnly ? nothing : undefined;",
    after: "return returning !== undefined && isTunnelOnly ? undefined : undefined;",
  },
  {
    name: "a hub that stops cuts what it pipes to another one (once)",
    file: "packages/hub/src/http/hops/entry-places.ts",
    before: "if (!isLasting) underWay.add(own);",
    after: "",
  },
  {
    name: "a request fails with a tunnel that its agent never read (once)",
    file: "packages/tunnel/src/requester-session.ts",
    before: "this.#isRead ? RESET_CODES.tunnelLost : RESET_CODES.unread;",
    after: "RESET_CODES.tunnelLost;",
  },
  {
    name: "an agent does not count what runs for the home before (once)",
    file: "packages/participant/src/endpoint-slots.ts",
    before: 'const homeOf = (epoch: number | undefined) => `${room} ${epoch ?? ""}`;',
    after: "const homeOf = (_epoch: number | undefined) => room;",
  },
  {
    name: "a slab is written again before its messages have left",
    file: "packages/tunnel/src/wire/frame-writer.ts",
    before: "if (this.slab.length >= bytes && this.#sink.isClear) return;",
    after: "if (this.slab.length >= bytes) return;",
  },
  {
    name: "an agent gives a request back before its socket has sent it",
    file: "packages/participant/src/served-request.ts",
    before: "const call = server.call({ method, path, headers, body, bodyBytes, client }, this);",
    after:
      "const call = server.call({ method, path, headers, body, bodyBytes, client }, this);\n    this.#collected.forEach(giveBack);",
  },
  {
    name: "an agent keeps what its tunnel read and has given back",
    file: "packages/participant/src/served-request.ts",
    before: "this.#collected.push(Buffer.from(chunk));",
    after: "this.#collected.push(chunk);",
  },
  {
    name: "a request for a participant that is busy goes to another one",
    file: "packages/hub/src/domain/select-at-once.ts",
    before: "return isFree(named, query) ? selected(named) : undefined;",
    after: "return isFree(named, query) ? selected(named) : selected(anyFree(room, query));",
  },
  {
    name: "what is shown of a participant has its token",
    file: "packages/hub/src/operations/join-participant.ts",
    before: "addParticipant(context, room, participant, request.authHeaders ?? {});",
    after:
      "participant.specs = { token: token.reveal() };\n  addParticipant(context, room, participant, request.authHeaders ?? {});",
  },
  {
    name: "an agent gives a piece of a form back before its socket has sent it",
    file: "packages/participant/src/served-request.ts",
    before: "if (call.isBodyTaken === true) giveBack(own);",
    after: "giveBack(own);",
  },
  {
    name: "a hub gives a piece of a form back before its tunnel has sent it",
    file: "packages/hub/src/inference/request/upload.ts",
    before: "if (this.#lent.length === 0 || this.#target?.isBodyTaken !== true) return;",
    after: "if (this.#lent.length === 0) return;",
  },
  {
    name: "a session begins at a hub that is not the room's home any more (once)",
    file: "packages/hub/src/upstreams/tunnel/accept.ts",
    before: 'if (decision.kind === "new" && !events.isPresent(participant)) return elsewhere;',
    after: "",
  },
  {
    name: "those who had a turn go before those who had none",
    file: "packages/hub/src/inference/sender/turns.ts",
    before: "if (places.length > 1) places.sort((one, other) => one.turn - other.turn);",
    after: "if (places.length > 1) places.sort((one, other) => other.turn - one.turn);",
  },
  {
    name: "a join that was held up undoes the one that was sent after it (once)",
    file: "packages/hub/src/operations/join-participant.ts",
    before: "if (existing !== undefined) refuseLateJoin(existing, request);",
    after: "void refuseLateJoin;",
  },
  {
    name: "a home does not tell the hub of the client that it published an error (once)",
    file: "packages/hub/src/events/away-events.ts",
    before:
      'if (hubId !== undefined && event.name === "llm.error")\n        this.#options.tellEnd(hubId, requestId, codeOf(event));',
    after: "",
  },
  {
    name: "a home forgets a request of which a hub between says that its client left (once)",
    file: "packages/hub/src/events/away-events.ts",
    before: "if (this.#piped.has(requestId)) this.#piped.set(requestId, undefined);",
    after: "this.#piped.delete(requestId);",
  },
  {
    name: "an agent forgets after a restart what it has spent",
    file: "packages/participant/src/budget/ledger.ts",
    before: "const file = openSync(join(folder, `${key}.${this.#day}`), flags, 0o600);",
    after:
      "const file = openSync(join(folder, `${key}${this.#options.writerId}.${this.#day}`), flags, 0o600);",
  },
  {
    name: "a home that stops tells an end that the hub of the client will tell (once)",
    file: "packages/hub/src/events/away-events.ts",
    before: "if (this.#isLeftTo(hubId)) return false;",
    after: "",
  },
  {
    name: "the hub of a client keeps its connection after the home found that it reads nothing (once)",
    file: "packages/hub/src/hub-homes.ts",
    before: 'if (kind === "stalled") this.places.stalled(subject);',
    after: "",
  },
  {
    name: "a tunnel that its agent never read stands for what the agent says on the next one (once)",
    file: "packages/hub/src/inference/routing.ts",
    before: 'this.#firstFailure === undefined || this.#firstFailure.cause === "unread"',
    after: "this.#firstFailure === undefined",
  },
  {
    name: "a long form fails with a tunnel that its agent never read (once)",
    file: "packages/hub/src/inference/attempts.ts",
    before: 'failure?.cause === "unread" ||',
    after: "",
  },
  {
    name: "what a request waited in the queue is missing in its duration",
    file: "packages/hub/src/inference/dispatch.ts",
    before: "metricsOf(ttftMs, endMs - startedMs, relayed?.usage ?? {})",
    after: "metricsOf(ttftMs, endMs - startedMs - this.#queueMs, relayed?.usage ?? {})",
  },
  {
    name: "an agent does not write down the tokens of a response",
    file: "packages/participant/src/budget/budget.ts",
    before: "this.#deps.ledger.spend(this.#deps.world.wallMs(), tokens, isBatch);",
    after: "void isBatch;",
  },
  {
    name: "a request that is refused for a budget does not go to another participant",
    file: "packages/hub/src/inference/retry.ts",
    before: 'case "path":\n    case "budget":',
    after: 'case "budget":\n      return false;\n    case "path":',
  },
  {
    name: "what is no JSON is relayed as a response",
    file: "packages/hub/src/inference/response/json-response.ts",
    before: "if (!this.#scanner.end()) throw this.#notJson();",
    after: "this.#scanner.end();",
  },
  {
    name: "the head of a response may be of any length",
    file: "packages/provider/src/call/response-reader.ts",
    before: "if ((at < 0 ? this.#text.length : at) > maxHeadBytes) {",
    after: "if (at > Number.MAX_SAFE_INTEGER) {",
  },
  {
    name: "a prompt that was too long for one participant is refused although another has the context",
    file: "packages/hub/src/inference/routing.ts",
    before: 'if (this.#stepAfter(attempt, "context", attempts) !== "elsewhere") return false;',
    after: "if (attempts > 0) return false;",
  },
  {
    name: "a context that is known keeps no request away",
    file: "packages/hub/src/domain/needs/bar.ts",
    before: "const tokens = isTight(room, query) ? demand.leastTokens() : 0;",
    after: "const tokens = 0;",
  },
  {
    name: "a hub returns the credit of what its client has not read",
    file: "packages/tunnel/src/streams/credit.ts",
    before: "if (!isAccepted) this.#isHeld = true;",
    after: "void isAccepted;",
  },
  {
    name: "an agent reads on where its hub gives no credit",
    file: "packages/tunnel/src/streams/agent-stream.ts",
    before: "this.#wantsDrain = this.#body.bytes >= this.#credit.availableBytes;",
    after: "this.#wantsDrain = false;",
  },
  {
    name: "a response does not end while another one of its tunnel waits for credit",
    file: "packages/tunnel/src/streams/agent-stream.ts",
    before: 'if (!isSent || this.#phase !== "ending") return;',
    after:
      'if (!(writer.first?.#body.bytes > 0)) writer.first = this;\n    if ((writer.isWaiting ||= writer.first.#body.bytes > 0) || this.#phase !== "ending") return;',
  },
  {
    name: "a client that reads nothing is never disconnected",
    file: "packages/hub/src/inference/response/client-writer.ts",
    before:
      "if (this.#blockedMs === undefined || nowMs - this.#blockedMs <= clientStallMs) return;",
    after: "if (this.#blockedMs === undefined || nowMs > clientStallMs / clientStallMs) return;",
  },
];
