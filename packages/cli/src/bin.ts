import { holdHeapWhileLoading } from "./heap-growth.ts";

// Before anything else is loaded.
holdHeapWhileLoading();
await import("./main.ts");
