import type { FrontDeps } from "../front-deps.ts";
import type { Arrival } from "./arrival.ts";

/**
 * Goes on with a request for a room: served here where there is no such room, which is then said, or where this hub
 * serves every room; otherwise `send` decides.
 */
export function withRoom(
  { operations, cluster, places }: Pick<FrontDeps, "operations" | "cluster" | "places">,
  target: Arrival,
  send: (target: Arrival) => void,
): void {
  const { registry } = operations;
  const proceed = () => {
    const room = registry.findRoom(target.code);
    if (places === undefined || room === undefined) target.serve();
    else send(target.code === room.code ? target : { ...target, code: room.code });
  };
  if (cluster === undefined || registry.findRoom(target.code) !== undefined) proceed();
  else cluster.rooms.catchUp(target.code).then(proceed).catch(target.refuse);
}
