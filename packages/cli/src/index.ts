export type { Client } from "./capabilities.ts";
export type { CliContext, Terminal } from "./context.ts";
export { EXIT } from "./exit-code.ts";
export { runRoomhub } from "./program.ts";
