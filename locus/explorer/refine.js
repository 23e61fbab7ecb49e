/**
 * Levenberg-Marquardt over all paths of a snapshot jointly: a channel and a first guess in, the least-squares fit out.
 *
 * A port of `locus/receiver/fit_cpu.py`. For path i the columns of the Jacobian are the derivatives by angle, by delay, and by
 * the real and the imaginary part of its gain: g A' F, g A F', A F and j A F, with an array factor A and a delay factor
 * F. It is never formed, as its inner products are products of two small ones. Phases are relative to the centre of
 * the band and of the array.
 */

/**
 * @typedef {import("./observation.js").Complex} Complex
 * @typedef {[number, number]} Pair real and imaginary part
 * @typedef {Pair[]} Gram inner products of the factors of two paths, from `pairGram`
 * @typedef {Complex & {length: number}} Waves (path, length)
 * @typedef {{normal: Float64Array, right: Float64Array, cost: number}} System normal equations of a state, and its cost
 */

/**
 * @typedef {object} Columns paths being fitted; angles in radians per subcarrier or antenna, gains in units of the noise amplitude
 * @property {Float64Array} delay
 * @property {Float64Array} angle
 * @property {Float64Array} gainRe
 * @property {Float64Array} gainIm
 */

/** @typedef {Columns & {cost: number}} State paths and their squared misfit */

/**
 * @param {Complex} channel (antenna, subcarrier)
 * @param {Columns} start
 * @param {number} numAntennas
 * @param {number} numIterations largest number of iterations
 * @param {import("./estimator.js").FitConstants} constants
 * @returns {State}
 */
export function refine(channel, start, numAntennas, numIterations, constants) {
  const factor = constants.damping_factor;
  let energy = 0;
  for (let i = 0; i < channel.re.length; i++) energy += channel.re[i] ** 2 + channel.im[i] ** 2;
  let state = start;
  let system = linearise(channel, numAntennas, state, energy);
  let { damping } = constants;
  for (let iteration = 0; iteration < numIterations; iteration++) {
    const move = solve(system, damping, constants.regular);
    if (move === null) break;
    const trial = step(state, move);
    const ahead = linearise(channel, numAntennas, trial, energy);
    if (ahead.cost < system.cost) {
      const fall = system.cost - ahead.cost;
      [state, system] = [trial, ahead];
      damping = Math.max(damping / factor, constants.least_damping);
      if (!(fall > constants.converged + constants.rounding * energy)) break;
    } else {
      damping *= factor;
      if (damping >= constants.most_damping) break;
    }
  }
  return { ...state, cost: system.cost };
}

/**
 * @param {Columns} state
 * @param {Float64Array} move
 * @returns {Columns}
 */
function step({ delay, angle, gainRe, gainIm }, move) {
  const p = delay.length;
  /** @type {(column: Float64Array, block: number) => Float64Array} */
  const add = (column, block) => column.map((value, i) => value + move[block * p + i]);
  return { angle: add(angle, 0), delay: add(delay, 1), gainRe: add(gainRe, 2), gainIm: add(gainIm, 3) };
}

/**
 * exp(-j k phase) for k centred on 0, (path, k).
 * @param {Float64Array} phases
 * @param {number} length
 * @returns {Waves}
 */
function waves(phases, length) {
  const re = new Float64Array(phases.length * length);
  const im = new Float64Array(phases.length * length);
  phases.forEach((phase, i) => {
    let c = Math.cos((phase * (length - 1)) / 2);
    let s = Math.sin((phase * (length - 1)) / 2);
    const stepC = Math.cos(phase);
    const stepS = -Math.sin(phase);
    for (let k = i * length; k < (i + 1) * length; k++) {
      re[k] = c;
      im[k] = s;
      [c, s] = [c * stepC - s * stepS, c * stepS + s * stepC];
    }
  });
  return { re, im, length };
}

/**
 * Sums of conj(wave i) wave j, weighted with 1, k and k^2 for k centred on 0: three complex numbers.
 * @param {Waves} waves
 * @param {number} i
 * @param {number} j
 */
function moments({ re, im, length }, i, j) {
  let s0r = 0, s0i = 0, s1r = 0, s1i = 0, s2r = 0, s2i = 0;
  for (let n = 0, a = i * length, b = j * length; n < length; n++, a++, b++) {
    const k = n - (length - 1) / 2;
    const x = re[a] * re[b] + im[a] * im[b];
    const y = re[a] * im[b] - im[a] * re[b];
    s0r += x;
    s0i += y;
    s1r += k * x;
    s1i += k * y;
    s2r += k * k * x;
    s2i += k * k * y;
  }
  return [s0r, s0i, s1r, s1i, s2r, s2i];
}

/**
 * Inner products of the channel with path i: with its derivatives by angle and by delay, and with the path itself.
 * @param {Complex} channel
 * @param {Waves} wave
 * @param {Waves} array
 * @param {number} i
 */
function project(channel, wave, array, i) {
  const [n, m] = [wave.length, array.length];
  const result = [0, 0, 0, 0, 0, 0];
  for (let a = 0; a < m; a++) {
    let plainRe = 0, plainIm = 0, rampRe = 0, rampIm = 0;
    for (let s = 0, w = i * n, c = a * n; s < n; s++, w++, c++) {
      const re = wave.re[w] * channel.re[c] + wave.im[w] * channel.im[c];
      const im = wave.re[w] * channel.im[c] - wave.im[w] * channel.re[c];
      const k = s - (n - 1) / 2;
      plainRe += re;
      plainIm += im;
      rampRe += k * re;
      rampIm += k * im;
    }
    const [c, s] = [array.re[i * m + a], -array.im[i * m + a]];
    const [x, y] = [c * plainRe - s * plainIm, c * plainIm + s * plainRe];
    const k = a - (m - 1) / 2;
    result[0] -= k * y; // j k (x + j y)
    result[1] += k * x;
    result[2] -= c * rampIm + s * rampRe;
    result[3] += c * rampRe - s * rampIm;
    result[4] += x;
    result[5] += y;
  }
  return result;
}

/**
 * @param {Complex} channel
 * @param {number} numAntennas
 * @param {Columns} state
 * @param {number} energy
 * @returns {System}
 */
function linearise(channel, numAntennas, state, energy) {
  const { delay, angle, gainRe, gainIm } = state;
  const p = delay.length;
  const wave = waves(delay, channel.re.length / numAntennas);
  const array = waves(angle, numAntennas);
  const normal = new Float64Array(16 * p * p);
  const misfit = Array.from({ length: p }, (_, i) => project(channel, wave, array, i));
  let explained = 0;
  for (let i = 0; i < p; i++) explained += 2 * (gainRe[i] * misfit[i][4] + gainIm[i] * misfit[i][5]);
  for (let i = 0; i < p; i++) {
    for (let j = i; j < p; j++) {
      const gram = pairGram(moments(array, i, j), moments(wave, i, j));
      fillNormal(normal, state, i, j, gram);
      explained -= subtractModel(misfit, state, i, j, gram) * (i === j ? 1 : 2);
    }
  }
  const right = new Float64Array(4 * p);
  misfit.forEach(([angleRe, angleIm, delayRe, delayIm, plainRe, plainIm], i) => {
    right[i] = gainRe[i] * angleRe + gainIm[i] * angleIm;
    right[p + i] = gainRe[i] * delayRe + gainIm[i] * delayIm;
    right[2 * p + i] = plainRe;
    right[3 * p + i] = plainIm;
  });
  return { normal, right, cost: energy - explained };
}

/**
 * Complex inner products of two paths and their derivatives, from the moments of array and delay factors: angle with
 * angle, angle with delay, delay with delay, angle with plain, delay with plain, plain with plain.
 * @param {number[]} a
 * @param {number[]} f
 * @returns {Gram}
 */
function pairGram(a, f) {
  /** @type {(x: number, y: number) => Pair} */
  const times = (x, y) => [a[x] * f[y] - a[x + 1] * f[y + 1], a[x] * f[y + 1] + a[x + 1] * f[y]];
  /** @type {(z: Pair) => Pair} */
  const turned = ([re, im]) => [-im, re]; // times j
  return [times(4, 0), times(2, 2), times(0, 4), turned(times(2, 0)), turned(times(0, 2)), times(0, 0)];
}

/**
 * Subtract path j's model from path i's misfit and vice versa; returns Re(conj(g_i) <i, j> g_j).
 * @param {number[][]} misfit
 * @param {Columns} state
 * @param {number} i
 * @param {number} j
 * @param {Gram} gram
 */
function subtractModel(misfit, { gainRe, gainIm }, i, j, [, , , byAngle, byDelay, plain]) {
  [byAngle, byDelay, plain].forEach(([re, im], block) => {
    misfit[i][2 * block] -= re * gainRe[j] - im * gainIm[j];
    misfit[i][2 * block + 1] -= re * gainIm[j] + im * gainRe[j];
    if (i === j) return;
    // <j, i> is the conjugate of <i, j>, with the derivative on the other side: j times the conjugate of -j z is -conj(z)
    const [x, y] = block < 2 ? [-re, im] : [re, -im];
    misfit[j][2 * block] -= x * gainRe[i] - y * gainIm[i];
    misfit[j][2 * block + 1] -= x * gainIm[i] + y * gainRe[i];
  });
  const [re, im] = [plain[0] * gainRe[j] - plain[1] * gainIm[j], plain[0] * gainIm[j] + plain[1] * gainRe[j]];
  return gainRe[i] * re + gainIm[i] * im;
}

/**
 * Fill the entries of the normal matrix for paths i and j.
 * @param {Float64Array} normal
 * @param {Columns} state
 * @param {number} i
 * @param {number} j
 * @param {Gram} gram
 */
function fillNormal(normal, { gainRe, gainIm }, i, j, [aa, ad, dd, ap, dp, pp]) {
  const p = gainRe.length;
  const [gr, gi, hr, hi] = [gainRe[i], -gainIm[i], gainRe[j], gainIm[j]];
  const [br, bi] = [gr * hr - gi * hi, gr * hi + gi * hr];
  const both = (/** @type {Pair} */ [re, im]) => br * re - bi * im; // Re(conj(g_i) g_j z)
  const mineRe = (/** @type {Pair} */ [re, im]) => gr * re - gi * im; // Re(conj(g_i) z)
  const mineIm = (/** @type {Pair} */ [re, im]) => -(gr * im + gi * re); // Re(j conj(g_i) z)
  const theirsRe = (/** @type {Pair} */ [re, im]) => hi * im - hr * re; // Re(-g_j z)
  const theirsIm = (/** @type {Pair} */ [re, im]) => -(hr * im + hi * re); // Re(j g_j z)
  const values = [
    [both(aa), both(ad), mineRe(ap), mineIm(ap)],
    [both(ad), both(dd), mineRe(dp), mineIm(dp)],
    [theirsRe(ap), theirsRe(dp), pp[0], -pp[1]],
    [theirsIm(ap), theirsIm(dp), pp[1], pp[0]],
  ];
  for (let r = 0; r < 4; r++) {
    for (let c = 0; c < 4; c++) {
      const [row, column] = [r * p + i, c * p + j];
      normal[row * 4 * p + column] = values[r][c];
      normal[column * 4 * p + row] = values[r][c];
    }
  }
}

/**
 * Damped step by Cholesky factorisation; null if the matrix is not positive definite.
 * @param {System} system
 * @param {number} damping
 * @param {number} regular
 */
function solve({ normal, right }, damping, regular) {
  const size = right.length;
  const factor = new Float64Array(size * size);
  const move = new Float64Array(size);
  let largest = 0;
  for (let i = 0; i < size; i++) largest = Math.max(largest, normal[i * size + i]);
  for (let i = 0; i < size; i++) {
    for (let j = 0; j <= i; j++) {
      let total = normal[i * size + j];
      // Derivatives by angle and delay vanish for a path without gain.
      if (i === j) total += damping * normal[i * size + i] + regular * largest;
      for (let k = 0; k < j; k++) total -= factor[i * size + k] * factor[j * size + k];
      if (i === j && !(total > 0)) return null;
      factor[i * size + j] = i === j ? Math.sqrt(total) : total / factor[j * size + j];
    }
  }
  for (let i = 0; i < size; i++) {
    let total = right[i];
    for (let k = 0; k < i; k++) total -= factor[i * size + k] * move[k];
    move[i] = total / factor[i * size + i];
  }
  for (let i = size - 1; i >= 0; i--) {
    let total = move[i];
    for (let k = i + 1; k < size; k++) total -= factor[k * size + i] * move[k];
    move[i] = total / factor[i * size + i];
  }
  return move;
}
