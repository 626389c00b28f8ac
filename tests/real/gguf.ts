import { bytesOf, uint32 } from "./little-endian.ts";

/** A value of a GGUF file's metadata, with its type where JavaScript has one for several. */
export type GgufValue =
  | { kind: "string"; value: string }
  | { kind: "uint32"; value: number }
  | { kind: "float32"; value: number }
  | { kind: "bool"; value: boolean }
  | { kind: "strings"; values: readonly string[] }
  | { kind: "int32s"; values: readonly number[] }
  | { kind: "float32s"; values: readonly number[] };

export interface GgufTensor {
  name: string;
  /** the dimension whose elements are neighbours first */
  shape: readonly number[];
  values: Float32Array;
}

const typeNumber = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 } as const;
const alignment = 32;

/** A model file, version 3 of the format: metadata, a table of tensors, their values. */
export function encodeGguf(
  metadata: Readonly<Record<string, GgufValue>>,
  tensors: readonly GgufTensor[],
): Buffer {
  const entries = Object.entries(metadata);
  const table: Buffer[] = [];
  let offset = 0;
  for (const { name, shape, values } of tensors) {
    table.push(text(name), uint32(shape.length), ...shape.map(uint64), uint32(0), uint64(offset));
    offset += padded(values.byteLength);
  }
  const head = Buffer.concat([
    Buffer.from("GGUF"),
    uint32(3),
    uint64(tensors.length),
    uint64(entries.length),
    ...entries.flatMap(([name, value]) => [text(name), encodeValue(value)]),
    ...table,
  ]);
  return Buffer.concat([pad(head), ...tensors.map(({ values }) => pad(bytesOf(values)))]);
}

function encodeValue(value: GgufValue): Buffer {
  switch (value.kind) {
    case "string":
      return Buffer.concat([uint32(typeNumber.string), text(value.value)]);
    case "uint32":
      return Buffer.concat([uint32(typeNumber.uint32), uint32(value.value)]);
    case "float32":
      return Buffer.concat([uint32(typeNumber.float32), bytesOf(Float32Array.of(value.value))]);
    case "bool":
      return Buffer.concat([uint32(typeNumber.bool), Buffer.from([value.value ? 1 : 0])]);
    case "strings":
      return list(typeNumber.string, value.values.length, Buffer.concat(value.values.map(text)));
    case "int32s":
      return list(typeNumber.int32, value.values.length, bytesOf(Int32Array.from(value.values)));
    case "float32s":
      return list(
        typeNumber.float32,
        value.values.length,
        bytesOf(Float32Array.from(value.values)),
      );
  }
}

function list(elementType: number, length: number, elements: Buffer): Buffer {
  return Buffer.concat([uint32(typeNumber.array), uint32(elementType), uint64(length), elements]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint64(bytes.length), bytes]);
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function pad(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(padded(bytes.length) - bytes.length)]);
}

function padded(length: number): number {
  return Math.ceil(length / alignment) * alignment;
}
