import { z } from "zod";

/** Contract §1: `unknown` is tried, `unsupported` removes a candidate. */
export const CapabilityValue = z.enum(["supported", "unsupported", "unknown"]);
export type CapabilityValue = z.infer<typeof CapabilityValue>;

/** Interface §2. Further keys are kept. */
export const Capabilities = z.looseObject({
  openResponses: CapabilityValue,
  chatCompletions: CapabilityValue,
});
export type Capabilities = z.infer<typeof Capabilities>;
