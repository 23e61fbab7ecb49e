/** In-place Fourier transforms of complex arrays whose length is a power of two. */

/** @type {Map<number, {cos: Float64Array, sin: Float64Array}>} */
const tables = new Map();

/** @param {number} length */
function tableOf(length) {
  const known = tables.get(length);
  if (known) return known;
  if (length < 1 || (length & (length - 1)) !== 0) throw new RangeError(`Expected a power of two, got ${length}`);
  const angles = Float64Array.from({ length: length / 2 }, (_, k) => (2 * Math.PI * k) / length);
  const table = { cos: angles.map(Math.cos), sin: angles.map(Math.sin) };
  tables.set(length, table);
  return table;
}

/**
 * Unscaled sums of x[n] exp(-2 pi j k n / N), or with `inverse` of x[n] exp(+2 pi j k n / N).
 * @param {Float64Array} re
 * @param {Float64Array} im
 */
export function fft(re, im, inverse = false) {
  const length = re.length;
  const { cos, sin } = tableOf(length);
  const sign = inverse ? 1 : -1;
  for (let i = 1, j = 0; i < length; i++) {
    let bit = length >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      [re[i], re[j]] = [re[j], re[i]];
      [im[i], im[j]] = [im[j], im[i]];
    }
  }
  for (let size = 2; size <= length; size *= 2) {
    const half = size / 2;
    const step = length / size;
    for (let start = 0; start < length; start += size) {
      for (let k = 0, t = 0; k < half; k++, t += step) {
        const c = cos[t];
        const s = sign * sin[t];
        const a = start + k;
        const b = a + half;
        const x = re[b] * c - im[b] * s;
        const y = re[b] * s + im[b] * c;
        re[b] = re[a] - x;
        im[b] = im[a] - y;
        re[a] += x;
        im[a] += y;
      }
    }
  }
}
