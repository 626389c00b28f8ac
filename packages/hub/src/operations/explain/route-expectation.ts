import type { RouteExpectation } from "@roomhub/protocol";
import type { Participant } from "../../domain/participant.ts";
import type { ResponseForm } from "../../domain/placement/pace.ts";
import { Candidate } from "../../domain/placement/place-request.ts";
import { expectationOf } from "../../domain/placement/placement.ts";
import type { Room } from "../../domain/room.ts";
import type { SelectionQuery } from "../../domain/selection-query.ts";

/** What the placement of a request by model name goes by, for one participant. */
export function routeExpectation(
  room: Room,
  participant: Participant,
  { prompt, nowMs }: SelectionQuery,
): RouteExpectation {
  // Where no stream was measured, whole responses say something too.
  const { pace } = participant;
  const form: ResponseForm =
    pace.expectedFirstMs("stream", 0, nowMs()) === undefined ? "whole" : "stream";
  const warm = room.placing.warm.warmBytes(prompt, nowMs()).get(participant) ?? 0;
  const candidate = new Candidate(participant, warm, undefined);
  const query = { promptBytes: prompt.bytes, form, nowMs: nowMs() };
  const { waitMs, firstMs } = expectationOf(candidate, query);
  const rate = pace.promptBytesPerSecond(form);
  return {
    ...(waitMs === undefined ? {} : { waitMs: Math.round(waitMs) }),
    ...(firstMs === undefined ? {} : { firstTokenMs: Math.round(firstMs) }),
    ...(rate === undefined ? {} : { promptBytesPerSecond: Math.round(rate) }),
    ...(prompt.session === undefined ? {} : { warmBytes: warm }),
  };
}
