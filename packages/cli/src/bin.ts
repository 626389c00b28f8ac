import { limitHeapWhileLoading } from "./heap-growth.ts";

// Before any other module is loaded.
limitHeapWhileLoading();
await import("./main.ts");
