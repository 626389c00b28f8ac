import { writeFile } from "node:fs/promises";
import { createRandom } from "../faults/seeded-random.ts";
import { encodeGguf, type GgufTensor, type GgufValue } from "./gguf.ts";

/**
 * Writes the projector that lets the tiny model hear, 0.7 MB: an encoder of random weights as Ultravox has it. llama-server
 * takes it with `--mmproj`.
 */
export function writeTinyEar(path: string): Promise<void> {
  return writeFile(path, encodeGguf(metadata, tensors()));
}

const width = 64;
const innerWidth = 64;
const melBands = 80;
/** 30 seconds in steps of 20 ms, of which 10 become one token. */
const positions = 1_500;
const stacked = 10;

const uint32 = (value: number): GgufValue => ({ kind: "uint32", value });

const metadata: Record<string, GgufValue> = {
  "general.architecture": { kind: "string", value: "clip" },
  "general.name": { kind: "string", value: "ear" },
  "clip.has_audio_encoder": { kind: "bool", value: true },
  "clip.projector_type": { kind: "string", value: "ultravox" },
  "clip.use_gelu": { kind: "bool", value: true },
  "clip.audio.num_mel_bins": uint32(melBands),
  "clip.audio.embedding_length": uint32(width),
  "clip.audio.feed_forward_length": uint32(innerWidth),
  "clip.audio.block_count": uint32(1),
  "clip.audio.attention.head_count": uint32(2),
  "clip.audio.attention.layer_norm_epsilon": { kind: "float32", value: 1e-5 },
  "clip.audio.projection_dim": uint32(width),
  "clip.audio.projector.stack_factor": uint32(stacked),
};

function tensors(): GgufTensor[] {
  const random = createRandom(3);
  const weight = (name: string, shape: readonly number[]): GgufTensor => ({
    name: `${name}.weight`,
    shape,
    values: Float32Array.from(
      { length: shape.reduce((product, size) => product * size, 1) },
      () => (random() * 2 - 1) * 0.2,
    ),
  });
  const bias = (name: string, shape: readonly number[]): GgufTensor => ({
    ...weight(name, shape),
    name: `${name}.bias`,
  });
  const linear = (name: string, columns: number, rows: number) => [
    weight(name, [columns, rows]),
    bias(name, [rows]),
  ];
  const norm = (name: string) => [weight(name, [width]), bias(name, [width])];
  const block = "a.blk.0";
  return [
    weight("a.conv1d.1", [3, melBands, width]),
    bias("a.conv1d.1", [1, width]),
    weight("a.conv1d.2", [3, width, width]),
    bias("a.conv1d.2", [1, width]),
    weight("a.position_embd", [width, positions]),
    ...norm(`${block}.ln1`),
    ...["attn_q", "attn_v", "attn_out"].flatMap((part) => linear(`${block}.${part}`, width, width)),
    weight(`${block}.attn_k`, [width, width]),
    ...norm(`${block}.ln2`),
    ...linear(`${block}.ffn_up`, width, innerWidth),
    ...linear(`${block}.ffn_down`, innerWidth, width),
    ...norm("a.post_ln"),
    weight("mm.a.norm_pre", [stacked * width]),
    weight("mm.a.mlp.1", [stacked * width, 2 * innerWidth]),
    weight("mm.a.norm_mid", [innerWidth]),
    weight("mm.a.mlp.2", [innerWidth, width]),
  ];
}

const [, program, outputPath] = process.argv;
if (program === import.meta.filename && outputPath !== undefined) await writeTinyEar(outputPath);
