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
];
