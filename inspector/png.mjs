// Small PNG files: reads what a browser draws, and writes images of few colours.
import zlib from "node:zlib";

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
/** How many colours an image that is kept has: as many as 4 bits tell apart. */
const COLOURS = 16;

function chunks(png) {
  const found = [];
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    found.push([png.toString("latin1", at + 4, at + 8), png.subarray(at + 8, at + 8 + length)]);
    at += length + 12;
  }
  return found;
}

function paeth(a, b, c) {
  const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

/** @param {Buffer} png of a browser, or of `encode` @returns {{width: number, height: number, pixels: Uint8Array}} three bytes for each pixel */
export function decode(png) {
  const all = chunks(png);
  const head = all.find(([kind]) => kind === "IHDR")[1];
  const palette = all.find(([kind]) => kind === "PLTE")?.[1];
  const [width, height, kind] = [head.readUInt32BE(0), head.readUInt32BE(4), head[9]];
  const wide = { 2: 3, 3: 1, 6: 4 }[kind];
  // Two pixels of a palette are one byte.
  const length = kind === 3 ? Math.ceil(width / 2) : width * wide;
  const raw = zlib.inflateSync(Buffer.concat(all.filter(([name]) => name === "IDAT").map(([, data]) => data)));
  const pixels = new Uint8Array(width * height * 3);
  let before = new Uint8Array(length);
  for (let y = 0; y < height; y++) {
    const start = y * (length + 1);
    const line = Uint8Array.from(raw.subarray(start + 1, start + 1 + length));
    for (let x = 0; x < line.length; x++) {
      const [a, b, c] = [x >= wide ? line[x - wide] : 0, before[x], x >= wide ? before[x - wide] : 0];
      line[x] += [0, a, b, (a + b) >> 1, paeth(a, b, c)][raw[start]];
    }
    for (let x = 0; x < width; x++) {
      const index = palette ? ((line[x >> 1] >> (x % 2 ? 0 : 4)) & 15) * 3 : x * wide;
      const of = (palette ?? line).subarray(index, index + 3);
      pixels.set(of, (y * width + x) * 3);
    }
    before = line;
  }
  return { width, height, pixels };
}

function crc(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

function chunk(kind, data) {
  const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc(body));
  return Buffer.concat([length, body, sum]);
}

const distance = (one, two) => [16, 8, 0].reduce((sum, bits) => sum + (((one >> bits) & 255) - ((two >> bits) & 255)) ** 2, 0);

/** The colours that an image is drawn with again: the most frequent ones, and those that are unlike all others. */
function paletteOf(counts) {
  const sorted = [...counts].sort((one, two) => two[1] - one[1] || one[0] - two[0]).slice(0, 600);
  const colours = sorted.slice(0, COLOURS / 4).map(([colour]) => colour);
  while (colours.length < COLOURS) {
    const worth = ([colour, count]) => Math.min(...colours.map((it) => distance(it, colour))) * Math.log(count + 1);
    colours.push(sorted.reduce((best, it) => (worth(it) > worth(best) ? it : best))[0]);
  }
  return colours;
}

/** @returns {Buffer} a PNG of few colours; other pixels get the nearest of them */
export function encode({ width, height, pixels }) {
  const counts = new Map();
  const colourAt = (at) => (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
  for (let at = 0; at < pixels.length; at += 3) counts.set(colourAt(at), (counts.get(colourAt(at)) ?? 0) + 1);
  const colours = paletteOf(counts);
  const near = new Map();
  const nearest = (colour) => {
    if (!near.has(colour)) near.set(colour, colours.reduce((best, it, index) => (distance(it, colour) < distance(colours[best], colour) ? index : best), 0));
    return near.get(colour);
  };
  const line = Math.ceil(width / 2) + 1;
  const raw = Buffer.alloc(line * height);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) raw[y * line + 1 + (x >> 1)] |= nearest(colourAt((y * width + x) * 3)) << (x % 2 ? 0 : 4);
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0]);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  const palette = Buffer.from(colours.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([SIGNATURE, chunk("IHDR", head), chunk("PLTE", palette), chunk("IDAT", zlib.deflateSync(raw, { level: 9, memLevel: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

/** @returns {number} the share of pixels that are clearly other colours; 1 if the images have other sizes */
export function differing(one, two) {
  if (one.width !== two.width || one.height !== two.height) return 1;
  let n = 0;
  for (let at = 0; at < one.pixels.length; at += 3) {
    if ([0, 1, 2].some((it) => Math.abs(one.pixels[at + it] - two.pixels[at + it]) > 48)) n++;
  }
  return n / (one.width * one.height);
}
