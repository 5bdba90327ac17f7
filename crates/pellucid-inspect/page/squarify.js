// Rectangles whose areas are the sizes of things, each as near to a square as it can be.

/** @param {number[]} areas of a row @param {number} side its length @returns {number} how far its worst rectangle is from a square */
function worst(areas, side) {
  const sum = areas.reduce((one, other) => one + other, 0);
  return Math.max(...areas.map((area) => Math.max((side * side * area) / (sum * sum), (sum * sum) / (side * side * area))));
}

/** Lays things with `bytes`, the largest first, out in a box, rows along the shorter side. Things without a size are left out. */
export function squarify(things, box) {
  const sized = things.filter((it) => it.bytes > 0);
  const scale = (box.width * box.height) / sized.reduce((sum, it) => sum + it.bytes, 0);
  const placed = [];
  let { x, y, width, height } = box;
  for (let at = 0; at < sized.length && box.width > 0 && box.height > 0;) {
    const side = Math.max(1e-6, Math.min(width, height));
    const areas = [sized[at].bytes * scale];
    const next = () => sized[at + areas.length]?.bytes * scale;
    while (worst([...areas, next()], side) <= worst(areas, side)) areas.push(next());
    const deep = areas.reduce((sum, area) => sum + area, 0) / side;
    const isWide = width >= height;
    let along = 0;
    for (const area of areas) {
      const long = area / Math.max(1e-6, deep);
      placed.push({ of: sized[at++], box: isWide ? { x, y: y + along, width: deep, height: long } : { x: x + along, y, width: long, height: deep } });
      along += long;
    }
    if (isWide) [x, width] = [x + deep, Math.max(0, width - deep)];
    else [y, height] = [y + deep, Math.max(0, height - deep)];
  }
  return placed;
}
