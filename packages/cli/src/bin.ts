import { limitHeapWhileLoading } from "./heap-growth.ts";

// Before anything else is loaded.
limitHeapWhileLoading();
await import("./main.ts");
