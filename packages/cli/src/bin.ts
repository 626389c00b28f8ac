import { keepYoungGenerationMinimal } from "./young-generation.ts";

// First of all: the room that loading the program needs would stay for as long as it runs.
keepYoungGenerationMinimal();
await import("./main.ts");
