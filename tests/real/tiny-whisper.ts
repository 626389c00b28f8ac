import { writeFile } from "node:fs/promises";
import { createRandom } from "../faults/seeded-random.ts";
import { bytesOf, uint32 } from "./little-endian.ts";

/**
 * Writes a model of random weights for whisper.cpp, 3.7 MB: it hears nothing, and says a few words for every second. The
 * server around it is real. Most of the file is one row for each of Whisper's 51,865 tokens, which its ids need.
 */
export function writeTinyWhisper(path: string): Promise<void> {
  return writeFile(path, Buffer.concat([head(), filters(), vocabulary(), ...tensors()]));
}

const tokenCount = 51_865;
const width = 16;
/** The 2 seconds at the beginning of what it is to hear, in steps of 20 ms. */
const audioContext = 100;
const textContext = 448;
const melBands = 80;
const spectrumBins = 201;

/** Ids of a multilingual model. */
const endOfText = 50_257;
const firstTimestamp = 50_364;
const timestampsPerSecond = 50;

const words = ["hub", "room", "model", "the", "and", "runs", "waits", "asks", "a", "to", "of"];
/** What it looks up by name, and single characters, which every prompt can be made of. */
const texts = [
  ...Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)),
  ...words.map((word) => ` ${word}`),
];
const firstWord = texts.length - words.length;

/** Start of transcript, language, task. */
const promptTokens = 3;
const wordsPerSecond = 6;

function head(): Buffer {
  const layers = 1;
  const heads = 1;
  const type = 0;
  const audio = [audioContext, width, heads, layers];
  const text = [textContext, width, heads, layers];
  return Buffer.concat(
    [0x67_67_6d_6c, tokenCount, ...audio, ...text, melBands, type].map((value) => uint32(value)),
  );
}

/** Each band of frequencies as one bin of the spectrum. */
function filters(): Buffer {
  const values = new Float32Array(melBands * spectrumBins);
  for (let band = 0; band < melBands; band += 1) values[band * spectrumBins + 2 * band] = 1;
  return Buffer.concat([uint32(melBands), uint32(spectrumBins), bytesOf(values)]);
}

function vocabulary(): Buffer {
  const entries = texts.flatMap((text) => [uint32(text.length), Buffer.from(text)]);
  return Buffer.concat([uint32(texts.length), ...entries]);
}

function tensors(): Buffer[] {
  const { embedding, positions } = decoderTables();
  return [
    tensor("encoder.positional_embedding", [width, audioContext], random(0.5)),
    tensor("encoder.conv1.weight", [3, melBands, width], random(0.2)),
    tensor("encoder.conv1.bias", [1, width], random(0.2)),
    tensor("encoder.conv2.weight", [3, width, width], random(0.2)),
    tensor("encoder.conv2.bias", [1, width], random(0.2)),
    ...norm("encoder.ln_post"),
    ...block("encoder.blocks.0", ["attn"]),
    tensor("decoder.positional_embedding", [width, textContext], () => positions),
    tensor("decoder.token_embedding.weight", [width, tokenCount], () => embedding),
    ...norm("decoder.ln", 10),
    ...block("decoder.blocks.0", ["attn", "cross_attn"]),
  ];
}

/**
 * What is said depends on the position alone: the first dimension is large in every state and carries how likely a token
 * is, the next two say that a timestamp or the end comes, the others are noise that chooses a word.
 */
function decoderTables(): { embedding: Float32Array; positions: Float32Array } {
  const noise = createRandom(1);
  const spread = (around: number) => (noise() * 2 - 1) * around;
  const embedding = new Float32Array(width * tokenCount);
  const positions = new Float32Array(width * textContext);
  for (let token = 0; token < tokenCount; token += 1) embedding[token * width] = -1;
  for (let word = firstWord; word < texts.length; word += 1) {
    embedding[word * width] = 0;
    for (let at = 3; at < width; at += 1) embedding[word * width + at] = spread(0.6);
  }
  embedding[(firstTimestamp + timestampsPerSecond) * width + 1] = 1;
  embedding[endOfText * width + 2] = 1;
  for (let position = 0; position < textContext; position += 1) {
    const start = position * width;
    positions[start] = 4;
    for (let at = 3; at < width; at += 1) positions[start + at] = spread(2);
    // The state at one position says what comes at the next one.
    const said = (position + 1 - promptTokens) % (wordsPerSecond + 3);
    // A timestamp ends a segment, and a second one begins the next.
    if (said === wordsPerSecond || said === wordsPerSecond + 1) positions[start + 1] = 12;
    if (said === wordsPerSecond + 2) positions[start + 2] = 12;
  }
  return { embedding, positions };
}

const next = createRandom(2);
type Values = (length: number) => Float32Array;
const random =
  (spread: number): Values =>
  (length) =>
    Float32Array.from({ length }, () => (next() * 2 - 1) * spread);
const all =
  (value: number): Values =>
  (length) =>
    new Float32Array(length).fill(value);

function block(name: string, attentions: readonly string[]): Buffer[] {
  const square = [width, width];
  return [
    ...attentions.flatMap((attention) => [
      ...norm(`${name}.${attention}_ln`),
      ...["query", "value", "out"].flatMap((part) =>
        linear(`${name}.${attention}.${part}`, square),
      ),
      tensor(`${name}.${attention}.key.weight`, square, random(0.1)),
    ]),
    ...norm(`${name}.mlp_ln`),
    ...linear(`${name}.mlp.0`, [width, 4 * width]),
    ...linear(`${name}.mlp.2`, [4 * width, width]),
  ];
}

function linear(name: string, shape: readonly number[]): Buffer[] {
  return [
    tensor(`${name}.weight`, shape, random(0.02)),
    tensor(`${name}.bias`, shape.slice(1), all(0)),
  ];
}

function norm(name: string, scale = 1): Buffer[] {
  return [tensor(`${name}.weight`, [width], all(scale)), tensor(`${name}.bias`, [width], all(0))];
}

/** @param shape - the dimension whose elements are neighbours first */
function tensor(name: string, shape: readonly number[], values: Values): Buffer {
  const type = 0;
  return Buffer.concat([
    ...[shape.length, name.length, type, ...shape].map((value) => uint32(value)),
    Buffer.from(name),
    bytesOf(values(shape.reduce((product, size) => product * size, 1))),
  ]);
}

const [, program, outputPath] = process.argv;
if (program === import.meta.filename && outputPath !== undefined) {
  await writeTinyWhisper(outputPath);
}
