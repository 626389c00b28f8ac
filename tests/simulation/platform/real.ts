/** The process's own, whatever the simulation has put in place of the globals. To be loaded before that. */
export const realSetImmediate: typeof setImmediate = globalThis.setImmediate;
