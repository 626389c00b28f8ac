import { Capabilities, type CapabilityValue } from "@roomhub/protocol";

const reported = Capabilities.keyof().options;

/** The capabilities that calls depend on: those of participants, and rerank in its second version. */
export type CapabilityName = (typeof reported)[number] | "rerankV2";
export const CAPABILITY_NAMES: readonly CapabilityName[] = reported.flatMap((name) =>
  name === "rerank" ? [name, "rerankV2"] : [name],
);

export type KnownCapabilities = Partial<Record<CapabilityName, CapabilityValue>>;

/** A declared `unknown` declares nothing. */
export function isDeclared(value: unknown): value is "supported" | "unsupported" {
  return value === "supported" || value === "unsupported";
}
