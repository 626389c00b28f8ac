import { crc32, deflateSync, inflateSync } from "node:zlib";

const signature = Buffer.from("89504e470d0a1a0a", "hex");
const bytesPerPixel = 3;
const paletteSize = 256;

/**
 * The same picture with at most 256 colours, for pages that are mostly flat: a third of the bytes. The rarest colours, of the
 * edges of letters, become the nearest other one. https://www.w3.org/TR/png-3/
 *
 * @param png - of 8 bits per channel, RGB, not interlaced, as chromium makes them
 */
export function smallPng(png: Buffer): Buffer {
  const { header, pixels } = decoded(png);
  const width = header.readUInt32BE(0);
  const height = header.readUInt32BE(4);
  const counts = new Map<number, number>();
  for (let at = 0; at < pixels.length; at += bytesPerPixel) {
    const color = pixels.readUIntBE(at, bytesPerPixel);
    counts.set(color, (counts.get(color) ?? 0) + 1);
  }
  const colors = [...counts].sort(([, one], [, other]) => other - one).map(([color]) => color);
  const palette = colors.slice(0, paletteSize);
  const places = new Map(colors.map((color) => [color, nearest(palette, color)]));
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const color = pixels.readUIntBE((y * width + x) * bytesPerPixel, bytesPerPixel);
      rows[y * (width + 1) + 1 + x] = places.get(color) ?? 0;
    }
  }
  const indexed = Buffer.from(header);
  indexed[9] = 3;
  const entries = Buffer.from(palette.flatMap(channels));
  const data = deflateSync(rows, { level: 9 });
  const chunks = [chunk("IHDR", indexed), chunk("PLTE", entries), chunk("IDAT", data)];
  return Buffer.concat([signature, ...chunks, chunk("IEND", Buffer.alloc(0))]);
}

function nearest(palette: readonly number[], color: number): number {
  const known = palette.indexOf(color);
  if (known !== -1) return known;
  const distances = palette.map((other) => {
    const [red, green, blue] = channels(other).map(
      (value, at) => value - (channels(color)[at] ?? 0),
    );
    return (red ?? 0) ** 2 + (green ?? 0) ** 2 + (blue ?? 0) ** 2;
  });
  return distances.indexOf(Math.min(...distances));
}

function channels(color: number): number[] {
  return [color >> 16, (color >> 8) & 255, color & 255];
}

function decoded(png: Buffer): { header: Buffer; pixels: Buffer } {
  let header: Buffer = Buffer.alloc(0);
  const data: Buffer[] = [];
  for (let at = signature.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    const body = png.subarray(at + 8, at + 8 + length);
    const name = png.toString("latin1", at + 4, at + 8);
    if (name === "IHDR") header = body;
    if (name === "IDAT") data.push(body);
    at += length + 12;
  }
  // 8 bits per channel, RGB, then compression, filter method and interlacing.
  if (header.subarray(8).toString("hex") !== "0802000000") throw new Error("no plain RGB picture");
  return { header, pixels: unfiltered(inflateSync(Buffer.concat(data)), header.readUInt32BE(0)) };
}

/** Undoes the filter of each row. PNG §9.2 */
function unfiltered(filtered: Buffer, width: number): Buffer {
  const stride = width * bytesPerPixel;
  const height = filtered.length / (stride + 1);
  const pixels = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = filtered[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x;
      const left = x < bytesPerPixel ? 0 : (pixels[at - bytesPerPixel] ?? 0);
      const above = pixels[at - stride] ?? 0;
      const aboveLeft = x < bytesPerPixel ? 0 : (pixels[at - stride - bytesPerPixel] ?? 0);
      const guesses = [0, left, above, (left + above) >> 1, paeth(left, above, aboveLeft)];
      pixels[at] = (filtered[at + y + 1] ?? 0) + (guesses[filter] ?? 0);
    }
  }
  return pixels;
}

function paeth(left: number, above: number, aboveLeft: number): number {
  const guess = left + above - aboveLeft;
  const [toLeft, toAbove, toAboveLeft] = [left, above, aboveLeft].map((value) =>
    Math.abs(guess - value),
  ) as [number, number, number];
  if (toLeft <= toAbove && toLeft <= toAboveLeft) return left;
  return toAbove <= toAboveLeft ? above : aboveLeft;
}

function chunk(name: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, "latin1"), body]);
  const framed = Buffer.alloc(named.length + 8);
  framed.writeUInt32BE(body.length, 0);
  named.copy(framed, 4);
  framed.writeUInt32BE(crc32(named), named.length + 4);
  return framed;
}
