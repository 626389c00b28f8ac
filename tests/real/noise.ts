/** A WAV file of noise, 32 KB a second. */
export function noise(seconds: number): File {
  const samples = Int16Array.from({ length: seconds * 16_000 }, (_, index) => (index * 7919) % 997);
  const head = Buffer.alloc(44);
  head.write("RIFF");
  head.writeUInt32LE(36 + samples.byteLength, 4);
  head.write("WAVEfmt ", 8);
  const format: [value: number, at: number][] = [
    [16, 16],
    // PCM, one channel
    [0x0001_0001, 20],
    [16_000, 24],
    [32_000, 28],
    // bytes and bits of a sample
    [0x0010_0002, 32],
    [samples.byteLength, 40],
  ];
  for (const [value, at] of format) head.writeUInt32LE(value, at);
  head.write("data", 36);
  return new File([head, samples], "noise.wav", { type: "audio/wav" });
}
