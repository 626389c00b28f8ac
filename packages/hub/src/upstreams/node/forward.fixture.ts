import type { ForwardFacts, UpstreamRequest } from "../../inference/upstream.ts";

/** The hub that has the client. */
export const clientHub = { hubId: "e".repeat(16), bootId: "0000000e" };

export const aTarget = {
  ...{ roomCode: "ABC234", participantId: "ana", participantKey: "k1" },
  ...{ bootId: "0000000a", revision: 7 },
};

export const someFacts: ForwardFacts = {
  ...{ requestId: "req_1", capability: "chatCompletions", hops: ["0000000e"] },
  ...{ remainingMs: 1_000, mayRequestUsage: true },
  layout: { bodyStart: 1, members: [{ key: "model", start: 9, end: 12 }] },
};

export const aRequest: UpstreamRequest = {
  ...{ method: "POST", path: "/chat/completions", headers: { accept: "*/*" } },
  ...{ protocol: "chatCompletions", isStream: true, body: [] },
  sender: { client: { kind: "name", id: "alice" }, addressId: "00000001" },
};
