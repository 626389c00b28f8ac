export type { CliContext, Client, Terminal } from "./context.ts";
export { EXIT } from "./exit-code.ts";
export { runRoomhub } from "./program.ts";
