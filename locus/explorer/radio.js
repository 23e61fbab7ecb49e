/** Link budget: a run's radio settings in, the numbers that the other modules compute with out. */

export const SPEED_OF_LIGHT = 299_792_458;
const BOLTZMANN = 1.380649e-23;

/**
 * @typedef {object} Radio
 * @property {number} wavelength [m]
 * @property {number} period of the pilot [s]
 * @property {number} txPower [W]
 * @property {number} noisePower per sample and antenna [W]
 * @property {number} numSubcarriers
 * @property {number} numAntennas
 * @property {number} syncWindow [s]
 */

/**
 * @param {Record<string, number>} settings section `radio` of a run
 * @param {number} [powerChange] transmit power beyond that of the settings [dB]
 * @returns {Radio}
 */
export function makeRadio(settings, powerChange = 0) {
  const noiseFigure = 10 ** (settings.noise_figure_db / 10);
  return {
    wavelength: SPEED_OF_LIGHT / settings.carrier,
    period: settings.num_subcarriers / settings.bandwidth,
    txPower: 10 ** ((settings.tx_power_dbm + powerChange) / 10 - 3),
    noisePower: BOLTZMANN * settings.temperature * settings.bandwidth * noiseFigure,
    numSubcarriers: settings.num_subcarriers,
    numAntennas: settings.num_antennas,
    syncWindow: settings.sync_window,
  };
}

/** SNR per sample and antenna [dB] of a path gain's squared magnitude; -Infinity without gain. */
export function snrDb(power, radio) {
  return 10 * Math.log10((power * radio.txPower) / radio.noisePower);
}

/** Remainder that is never negative, as Python's. */
export function modulo(value, period) {
  const rest = value % period;
  return rest < 0 ? rest + period : rest;
}
