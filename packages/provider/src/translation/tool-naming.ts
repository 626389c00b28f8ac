/** Which tool of a request a chat function name stands for. */
export interface ToolName {
  /** `custom` tools of Responses take free text, which chat carries as `{input}` */
  kind: "function" | "custom";
  name: string;
  /** Codex groups its tools in namespaces; chat has none */
  namespace: string | undefined;
}

/** By the name the chat request carries. */
export type ToolNames = ReadonlyMap<string, ToolName>;

/** Chat completions, `tools[].function.name`: letters, digits, underscore, hyphen, at most 64. */
const maxNameLength = 64;
const foreignCharacters = /[^a-zA-Z0-9_-]/g;
/** Leaves room for an underscore and seven digits. */
const maxStemLength = maxNameLength - 8;
const separator = "__";

/**
 * Gives each tool of a request a chat function name, and remembers which stands for which.
 *
 * Chat has no namespaces, no custom tools and shorter names, so two tools may end up with the same name: the later one gets a
 * number. The same tools in the same order get the same names, which a provider's prompt cache relies on.
 */
export class ToolNaming {
  readonly #tools = new Map<string, ToolName>();
  /** by kind and namespace, then by the tool's own name */
  readonly #chatNames = new Map<string, Map<string, string>>();
  /** by stem, so that many tools of one name do not take quadratic time */
  readonly #lastNumbers = new Map<string, number>();

  get names(): ToolNames {
    return this.#tools;
  }

  /** @returns the same name each time for the same tool */
  chatName(tool: ToolName): string {
    const names = this.#namesBeside(tool);
    const known = names.get(tool.name);
    if (known !== undefined) return known;
    const name = this.#unused(preferredName(tool));
    names.set(tool.name, name);
    this.#tools.set(name, tool);
    return name;
  }

  #namesBeside({ kind, namespace }: ToolName): Map<string, string> {
    const key = namespace === undefined ? kind : `${kind} ${namespace}`;
    const names = this.#chatNames.get(key) ?? new Map<string, string>();
    this.#chatNames.set(key, names);
    return names;
  }

  #unused(preferred: string): string {
    if (!this.#tools.has(preferred)) return preferred;
    const stem = preferred.slice(0, maxStemLength);
    for (;;) {
      const number = (this.#lastNumbers.get(stem) ?? 1) + 1;
      this.#lastNumbers.set(stem, number);
      const numbered = `${stem}_${number}`;
      if (!this.#tools.has(numbered)) return numbered;
    }
  }
}

function preferredName({ namespace, name }: ToolName): string {
  const full = namespace === undefined ? name : joined(namespace, name);
  // An empty name is no name.
  return full.slice(0, maxNameLength).replace(foreignCharacters, "_") || "_";
}

/** Namespaces of Codex already end in the separator: `mcp__docs__`. */
function joined(namespace: string, name: string): string {
  return namespace.endsWith(separator) ? namespace + name : namespace + separator + name;
}
