/** Seeded random numbers: an integer in, a stream that is identical on every machine out. */

export class Random {
  #state;
  /** @type {number | null} */
  #spare = null;

  /** @param {number} seed any integer */
  constructor(seed) {
    this.#state = seed >>> 0;
    for (let i = 0; i < 4; i++) this.uniform(); // decorrelates the streams of nearby seeds
  }

  /** Uniform in [low, high), by the generator mulberry32. */
  uniform(low = 0, high = 1) {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return low + ((high - low) * ((t ^ (t >>> 14)) >>> 0)) / 2 ** 32;
  }

  /**
   * Integer from 0 to count - 1.
   * @param {number} count
   */
  integer(count) {
    return Math.floor(this.uniform() * count);
  }

  /** Standard normal, by the Box-Muller method. */
  normal() {
    if (this.#spare !== null) {
      const spare = this.#spare;
      this.#spare = null;
      return spare;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    const angle = this.uniform(0, 2 * Math.PI);
    this.#spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }
}
