/**
 * What the supervisor of several workers tells each of them, in its environment. Not for people: variables that begin with
 * `ROOMHUB_` are settings.
 */
export const WORKER = { hubId: "_ROOMHUB_WORKER", isFirst: "_ROOMHUB_WORKER_IS_FIRST" } as const;
