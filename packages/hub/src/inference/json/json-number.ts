/** Where inside a number its last byte stands. RFC 8259 §6. */
export type NumberState =
  | "minus"
  | "zero"
  | "integer"
  | "dot"
  | "fraction"
  | "e"
  | "sign"
  | "exponent";

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** @returns undefined when no number begins with this byte */
export function firstOfNumber(byte: number): NumberState | undefined {
  if (byte === 0x2d) return "minus";
  if (byte === 0x30) return "zero";
  return isDigit(byte) ? "integer" : undefined;
}

/** @returns undefined when this byte is not the number's own */
export function nextOfNumber(state: NumberState, byte: number): NumberState | undefined {
  const isE = byte === 0x65 || byte === 0x45;
  switch (state) {
    case "minus":
      return byte === 0x2d ? undefined : firstOfNumber(byte);
    case "zero":
      return byte === 0x2e ? "dot" : isE ? "e" : undefined;
    case "integer":
      return isDigit(byte) ? "integer" : byte === 0x2e ? "dot" : isE ? "e" : undefined;
    case "dot":
      return isDigit(byte) ? "fraction" : undefined;
    case "fraction":
      return isDigit(byte) ? "fraction" : isE ? "e" : undefined;
    case "e":
      return byte === 0x2b || byte === 0x2d ? "sign" : isDigit(byte) ? "exponent" : undefined;
    case "sign":
    case "exponent":
      return isDigit(byte) ? "exponent" : undefined;
  }
}

export function isWholeNumber(state: NumberState): boolean {
  return state === "zero" || state === "integer" || state === "fraction" || state === "exponent";
}
