import type { Mutation } from "./mutations.ts";

/** Planted from the product's files alone, before any was looked for: no checker and no plan was changed for them. */
export const blindMutations: readonly Mutation[] = [
  {
    name: "blind: a window that was read does not open again",
    file: "packages/tunnel/src/streams/credit.ts",
    before: "this.#availableBytes += read;",
    after: "",
  },
  {
    name: "blind: the silence of a tunnel is not noticed",
    file: "packages/tunnel/src/keep-alive.ts",
    before: "if (!wasHeard) this.#missed += 1;",
    after: "",
  },
  {
    name: "blind: a slot that runs at the home before is never freed",
    file: "packages/hub/src/operations/homes/slots-before.ts",
    before: "releaseSlot(participant, machine, holder, startedMs);",
    after: "",
  },
  {
    name: "blind: the state file is written once",
    file: "packages/hub/src/storage/file-room-store.ts",
    before: "this.#writing = undefined;",
    after: "",
  },
  {
    name: "blind: what a dead home did not tell stays untold",
    file: "packages/hub/src/http/hops/entry-places.ts",
    before: "this.#lost(target, home, outcome.headers);",
    after: "",
  },
  {
    name: "blind: a lost path fails the request although another participant is free",
    file: "packages/hub/src/inference/retry.ts",
    before: 'return pathFailures.has(code) ? "path" : "other";',
    after: 'return "other";',
  },
  {
    name: "blind: a hub whose room has another home keeps the tunnels",
    file: "packages/hub/src/operations/homes/restore-participants.ts",
    before: 'context.paths.closeTunnel(participant, "elsewhere");',
    after: "",
  },
  {
    name: "blind: the silence of a participant is looked at once",
    file: "packages/hub/src/domain/liveness.ts",
    before: "this.watch(participant);",
    after: "this.forget(participant);",
  },
  {
    name: "blind: an agent does not tell its model server that the client left",
    file: "packages/participant/src/served-request.ts",
    before: "else this.#call.cancel();",
    after: "",
  },
  {
    name: "blind: a freed place in the stream table hides the streams behind it",
    file: "packages/tunnel/src/streams/streams.ts",
    before:
      "    if (this.#size === 0 && this.#slots.length > MAX_IDLE_SLOTS) this.#resize(0);\n    else this.#fill(slot);\n",
    after: "    if (this.#size === 0 && this.#slots.length > MAX_IDLE_SLOTS) this.#resize(0);\n",
  },
  {
    name: "blind: a resumed tunnel is neither announced nor wakes what waits",
    file: "packages/hub/src/operations/tunnel-path.ts",
    before:
      "  context.loadedUpdates.noteAnnounced(participant, nowMs);\n  recordTunnelContact(context, participant);\n  if (!wasOffline) announceUpdate(context, participant);\n",
    after:
      "  context.loadedUpdates.noteAnnounced(participant, nowMs);\n  recordTunnelContact(context, participant);\n",
  },
  {
    name: "blind: the pause between redials is bounded from below, not from above",
    file: "packages/participant/src/connection/connection-chart.ts",
    before: "Math.min(inputs.backoffMaxMs, inputs.backoffBaseMs *",
    after: "Math.max(inputs.backoffMaxMs, inputs.backoffBaseMs *",
  },
  {
    name: "blind: a request that lost its participant waits behind all others",
    file: "packages/hub/src/inference/dispatch.ts",
    before: "    this.#guard(() => this.#route(true));",
    after: "    this.#guard(() => this.#route(false));",
  },
  {
    name: "blind: a request goes elsewhere after its model server hung up on it",
    file: "packages/hub/src/inference/retry.ts",
    before: '  "provider_unreachable",\n  "provider_error",\n]);',
    after: '  "provider_unreachable",\n  "provider_disconnected",\n  "provider_error",\n]);',
  },
  {
    name: "blind: watchers of a room that moved stay at its old home",
    file: "packages/hub/src/events/bus.ts",
    before:
      "    this.endRoom(roomCode, retryMs);\n    this.#departures.set(roomCode, departures);\n",
    after:
      "    this.#streams.delete(roomCode);\n    this.#created.delete(roomCode);\n    this.#departures.set(roomCode, departures);\n",
  },
  {
    name: "blind: an unfinished temporary file stops all later saves",
    file: "packages/hub/src/storage/whole-file.ts",
    before:
      '  await removeIfThere(temporaryPath);\n  const file = await open(temporaryPath, "wx", mode);\n',
    after: '  const file = await open(temporaryPath, "wx", mode);\n',
  },
  {
    name: "blind: a hub that was reset once is doubted for ever",
    file: "packages/hub/src/cluster/hubs/hubs.ts",
    before: "    if (present !== undefined) present.doubt = undefined;",
    after: "    if (present?.doubt !== undefined) present.doubt.refused = undefined;",
  },
  {
    name: "blind: a connection between hubs stays paused after a slow client reads again",
    file: "packages/hub/src/hop/exchange.ts",
    before:
      "    if (this.#closedWhilePaused) this.#broken();\n    else this.#socket?.socket.resume();\n",
    after: "    if (this.#closedWhilePaused) this.#broken();\n",
  },
  {
    name: "blind: a response that was cut short costs nothing of the budget",
    file: "packages/participant/src/served-request.ts",
    before: "    const isCharged = this.#status === undefined ? mayHaveRun : this.#status < 300;",
    after:
      "    const isCharged = this.#status === undefined ? mayHaveRun : isWhole && this.#status < 300;",
  },
  {
    name: "blind: a resent count of acknowledgements is believed after a resume",
    file: "packages/tunnel/src/resume/messages.ts",
    before: "if (!this.isReadingResent) this.#log.acknowledge(count);",
    after: "this.#log.acknowledge(count);",
  },
  {
    name: "blind: the hub returns credit although the client is behind",
    file: "packages/tunnel/src/streams/outgoing-request.ts",
    before: "const credit = this.#window.settle(chunk.length, isAccepted);",
    after: "const credit = this.#window.settle(chunk.length, true);",
  },
  {
    name: "blind: batch requests wait until no interactive request waits for any model",
    file: "packages/hub/src/inference/queue.ts",
    before: "if (this.#batch.size > 0) this.#wakeLane(this.#batch);",
    after: "if (this.#interactive.size === 0) this.#wakeLane(this.#batch);",
  },
  {
    name: "blind: a batch request times out with the interactive queue limit",
    file: "packages/hub/src/inference/response/deadline.ts",
    before: "if (waitedMs <= batchWaitMs) return;",
    after: "if (waitedMs <= queueWaitMs) return;",
  },
  {
    name: "blind: a server that was down stays down while it loads",
    file: "packages/provider/src/readiness/server-readiness.ts",
    before: "        this.#downProblem = undefined;\n        this.#loading.seenAtList(nowMs);",
    after: "        this.#loading.seenAtList(nowMs);",
  },
  {
    name: "blind: events for a home that cannot be reached are dropped",
    file: "packages/hub/src/events/away-events.ts",
    before: 'else if (place.kind === "wait" || !send(place.home.hubId, event)) return;',
    after: 'else if (place.kind === "wait") return;\n      else send(place.home.hubId, event);',
  },
  {
    name: "blind: aliases are forgotten when rooms are loaded",
    file: "packages/hub/src/storage/room-store.ts",
    before: "    aliases: aliasesFromStored(stored),",
    after: "    aliases: new AliasTable([]),",
  },
  {
    name: "blind: the snapshot of a hand-over is not recognised as the gift",
    file: "packages/hub/src/cluster/homes/room-home.ts",
    before: "kept.from.epoch + 1 === stored.home.epoch",
    after: "kept.from.epoch === stored.home.epoch",
  },
  {
    name: "blind: unheard notes are not repeated over the next control connection",
    file: "packages/hub/src/hop/outbox.ts",
    before:
      "      this.#isInStep = true;\n      for (const { line } of this.#unheard) write(line);",
    after: "      this.#isInStep = true;",
  },
  {
    name: "blind: a request is resent however late its kept socket closes",
    file: "packages/provider/src/call/exchange.ts",
    before:
      "    if (this.#deps.world.monotonicMs() - this.#sentMs > staleSocketMs) return false;\n",
    after: "",
  },
];
