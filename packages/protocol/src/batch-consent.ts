import { z } from "zod";
import { parseHours } from "./daily-hours.ts";

/** Whether, and when, a participant serves requests of batches: never, or in hours of its own day. Contract §3, "Batches". */
export const BatchConsent = z.union([
  z.literal(false),
  z.object({
    /** such as `22-7` */
    hours: z.string().refine((text) => typeof parseHours(text) === "object", {
      error: "must be two different hours from 0 to 24, like 22-7",
    }),
    /** of these hours, such as `Europe/Berlin` */
    timeZone: z
      .string()
      .max(64)
      .refine(isTimeZone, { error: "must name a time zone, like Europe/Berlin" }),
  }),
]);
export type BatchConsent = z.infer<typeof BatchConsent>;

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
