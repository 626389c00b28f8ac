import type { ServerProgram } from "../../learn/fingerprints.ts";
import { noCounterpart } from "../../translation/read-field.ts";

/** What makes a server continue an assistant message at the end; others would begin a new one behind it. */
const continued: Partial<Record<ServerProgram, object>> = {
  "llama.cpp": {},
  vLLM: { add_generation_prompt: false, continue_final_message: true },
  SGLang: { continue_final_message: true },
};

/**
 * @param path - of the assistant message that the model is to continue; undefined when there is none
 * @throws UntranslatableError when the server is not known to continue it
 */
export function prefillFields(
  path: string | undefined,
  program: ServerProgram | undefined,
): object {
  if (path === undefined) return {};
  const fields = program === undefined ? undefined : continued[program];
  if (fields !== undefined) return fields;
  throw noCounterpart(
    "A last message of the assistant, for the model to continue,",
    path,
    "End with a message of the user.",
  );
}
