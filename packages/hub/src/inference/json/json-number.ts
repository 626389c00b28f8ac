/** Where inside a number its last byte stands; `none` when the byte is not the number's own. RFC 8259 §6. */
const states = Object.freeze({
  none: 0,
  begin: 1,
  minus: 2,
  zero: 3,
  dot: 4,
  e: 5,
  sign: 6,
  integer: 7,
  fraction: 8,
  exponent: 9,
});
export type NumberState = (typeof states)[keyof typeof states];

export const beforeNumber = states.begin;
export const notInNumber = states.none;

/** More digits change nothing. */
export function takesDigits(state: NumberState): boolean {
  return state >= states.integer;
}

export function isWholeNumber(state: NumberState): boolean {
  return state === states.zero || takesDigits(state);
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** Looked up, since some bodies are megabytes of numbers. */
const next = Uint8Array.from({ length: 10 * 256 }, (_, index) =>
  follow((index >> 8) as NumberState, index & 0xff),
);

export function nextOfNumber(state: NumberState, byte: number): NumberState {
  return next[(state << 8) | byte] as NumberState;
}

function follow(state: NumberState, byte: number): NumberState {
  const isE = byte === 0x65 || byte === 0x45;
  switch (state) {
    case states.begin:
      if (byte === 0x2d) return states.minus;
      return follow(states.minus, byte);
    case states.minus:
      if (byte === 0x30) return states.zero;
      return isDigit(byte) ? states.integer : states.none;
    case states.integer:
      if (isDigit(byte)) return states.integer;
      return follow(states.zero, byte);
    case states.zero:
      if (byte === 0x2e) return states.dot;
      return isE ? states.e : states.none;
    case states.dot:
      return isDigit(byte) ? states.fraction : states.none;
    case states.fraction:
      if (isDigit(byte)) return states.fraction;
      return isE ? states.e : states.none;
    case states.e:
      if (byte === 0x2b || byte === 0x2d) return states.sign;
      return follow(states.exponent, byte);
    case states.sign:
    case states.exponent:
      return isDigit(byte) ? states.exponent : states.none;
    case states.none:
      return states.none;
  }
}
