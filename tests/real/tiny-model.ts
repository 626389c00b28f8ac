import { writeFile } from "node:fs/promises";
import { createRandom } from "../faults/seeded-random.ts";
import { encodeGguf, type GgufTensor, type GgufValue } from "./gguf.ts";

/** `reranker`: with a head that says how well a document fits, as Qwen3's rerankers have. */
export type TinyModelKind = "chat" | "reranker";

/** Writes a model of random weights, 260 KB: its text is noise, llama-server's protocol around it is real. */
export function writeTinyModel(path: string, kind: TinyModelKind = "chat"): Promise<void> {
  const isReranker = kind === "reranker";
  const facts = isReranker ? { ...metadata("qwen3"), ...rerankerMetadata } : metadata("llama");
  return writeFile(path, encodeGguf(facts, [...tensors(), ...(isReranker ? rerankerHead() : [])]));
}

const contextLength = 32_768;
const width = 64;
const layers = 1;
const heads = 2;
const innerWidth = 64;

const chatTemplate = `{%- if tools %}
{{- '<|im_start|>system\\nTools are in <tools></tools>:\\n<tools>' }}
{%- for tool in tools %}
{{- '\\n' + (tool | tojson) }}
{%- endfor %}
{{- '\\n</tools>\\nA call is a JSON object in <tool_call></tool_call>:\\n<tool_call>{"name": <name>, "arguments": <arguments>}</tool_call><|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.content %}{{- message.content }}{%- endif %}
{%- if message.tool_calls %}
{%- for call in message.tool_calls %}
{{- '\\n<tool_call>{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) + '}</tool_call>' }}
{%- endfor %}
{%- endif %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`;

interface Token {
  text: string;
  /** of llama.cpp's token types */
  type: number;
  /** how much likelier than a word it is, as a logarithm */
  bias: number;
}

const endOfTurn = "<|im_end|>";
const unknownType = 2;
const controlType = 3;
const normalType = 1;
const byteType = 6;
/** Never by chance, at once where a grammar leaves nothing else. */
const never = -40;

const words = [
  "hub",
  "room",
  "model",
  "the",
  "and",
  "runs",
  "waits",
  "asks",
  "a",
  "to",
  "of",
  "it",
];

/** Bytes make every prompt readable to it; generated are only words and, in a grammar, single characters. */
function vocabulary(): Token[] {
  const bytes = Array.from({ length: 256 }, (_, byte) => ({
    text: `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
    type: byteType,
    bias: never,
  }));
  const characters = Array.from({ length: 94 }, (_, index) => ({
    text: String.fromCharCode(33 + index),
    type: normalType,
    // A string of arguments is to end soon, which takes this one.
    bias: index === 1 ? -2 : -6,
  }));
  return [
    { text: "<unk>", type: unknownType, bias: never },
    { text: "<s>", type: controlType, bias: never },
    { text: endOfTurn, type: controlType, bias: -8 },
    { text: "<|im_start|>", type: controlType, bias: never },
    ...bytes,
    ...characters,
    { text: "▁", type: normalType, bias: -6 },
    { text: "<tool_call>", type: normalType, bias: -1 },
    ...words.map((word) => ({ text: `▁${word}`, type: normalType, bias: 0 })),
  ];
}

function metadata(architecture: "llama" | "qwen3"): Record<string, GgufValue> {
  const tokens = vocabulary();
  return {
    "general.architecture": { kind: "string", value: architecture },
    "general.name": { kind: "string", value: "tiny" },
    [`${architecture}.context_length`]: uint32(contextLength),
    [`${architecture}.embedding_length`]: uint32(width),
    [`${architecture}.block_count`]: uint32(layers),
    [`${architecture}.feed_forward_length`]: uint32(innerWidth),
    [`${architecture}.attention.head_count`]: uint32(heads),
    [`${architecture}.attention.head_count_kv`]: uint32(heads),
    [`${architecture}.rope.dimension_count`]: uint32(width / heads),
    [`${architecture}.attention.layer_norm_rms_epsilon`]: { kind: "float32", value: 1e-5 },
    "tokenizer.ggml.model": { kind: "string", value: "llama" },
    "tokenizer.ggml.tokens": { kind: "strings", values: tokens.map(({ text }) => text) },
    "tokenizer.ggml.token_type": { kind: "int32s", values: tokens.map(({ type }) => type) },
    // Longer pieces first: what is merged is the pair with the highest score.
    "tokenizer.ggml.scores": { kind: "float32s", values: tokens.map(({ text }) => text.length) },
    "tokenizer.ggml.unknown_token_id": uint32(0),
    "tokenizer.ggml.bos_token_id": uint32(1),
    "tokenizer.ggml.eos_token_id": uint32(2),
    "tokenizer.ggml.add_bos_token": { kind: "bool", value: false },
    "tokenizer.ggml.add_space_prefix": { kind: "bool", value: false },
    "tokenizer.chat_template": { kind: "string", value: chatTemplate },
  };
}

function uint32(value: number): GgufValue {
  return { kind: "uint32", value };
}

const rankPooling = 4;
const labels = ["yes", "no"];

const rerankerMetadata: Record<string, GgufValue> = {
  "qwen3.pooling_type": uint32(rankPooling),
  "qwen3.classifier.output_labels": { kind: "strings", values: labels },
  "tokenizer.chat_template.rerank": { kind: "string", value: "{query}\n{document}" },
};

function rerankerHead(): GgufTensor[] {
  const headNorms = ["attn_q_norm", "attn_k_norm"].map((part) =>
    norm(`blk.0.${part}.weight`, width / heads),
  );
  return [
    ...headNorms,
    randomWeights(createRandom(2))("cls.output.weight", [width, labels.length], 0.3),
  ];
}

function norm(name: string, size = width): GgufTensor {
  return { name, shape: [size], values: new Float32Array(size).fill(1) };
}

function randomWeights(random: () => number) {
  return (name: string, shape: [columns: number, rows: number], spread: number) => ({
    name,
    shape,
    values: Float32Array.from({ length: shape[0] * shape[1] }, () => (random() * 2 - 1) * spread),
  });
}

function tensors(): GgufTensor[] {
  const weights = randomWeights(createRandom(1));
  const tokens = vocabulary();
  const embedding = weights("token_embd.weight", [width, tokens.length], 0.5);
  const output = weights("output.weight", [width, tokens.length], 0.3);
  tokens.forEach(({ text, bias }, index) => {
    // The first dimension is the same for every token, large, and so the same in every state: it carries the biases.
    embedding.values[index * width] = width / 8;
    output.values[index * width] = bias / 8;
    // The second one encodes that the last token was `>`, the end of a call, after which it stops.
    embedding.values[index * width + 1] = text === ">" ? width / 8 : 0;
    output.values[index * width + 1] = text === endOfTurn ? 3 : 0;
  });
  const blocks = Array.from({ length: layers }, (_, layer) => {
    const name = (part: string) => `blk.${layer}.${part}.weight`;
    return [
      norm(name("attn_norm")),
      ...["attn_q", "attn_k", "attn_v", "attn_output"].map((part) =>
        weights(name(part), [width, width], 0.2),
      ),
      norm(name("ffn_norm")),
      weights(name("ffn_gate"), [width, innerWidth], 0.2),
      weights(name("ffn_up"), [width, innerWidth], 0.2),
      weights(name("ffn_down"), [innerWidth, width], 0.2),
    ];
  });
  return [embedding, output, norm("output_norm.weight"), ...blocks.flat()];
}

const [, program, outputPath, kind] = process.argv;
if (program === import.meta.filename && outputPath !== undefined) {
  await writeTinyModel(outputPath, kind === "reranker" ? kind : "chat");
}
