/** Link budget: a run's radio settings in, powers, wavelength and pilot period in SI units out. */

/**
 * @typedef {object} RadioSettings section `radio` of a run's settings
 * @property {number} carrier [Hz]
 * @property {number} bandwidth [Hz]
 * @property {number} tx_power_dbm
 * @property {number} noise_figure_db
 * @property {number} temperature [K]
 * @property {number} num_antennas
 * @property {number} num_subcarriers
 * @property {number} sync_window [s]
 */

/**
 * @typedef {object} Radio
 * @property {number} speedOfLight [m/s]
 * @property {number} wavelength [m]
 * @property {number} period duration of the pilot [s]
 * @property {number} txPower [W]
 * @property {number} noisePower noise power per sample and antenna [W]
 * @property {number} numSubcarriers
 * @property {number} numAntennas
 * @property {number} syncWindow [s]
 */

/**
 * @param {RadioSettings} settings
 * @param {{speed_of_light: number, boltzmann: number}} constants
 * @param {number} [powerChange] transmit power relative to that of the settings [dB]
 * @returns {Radio}
 */
export function makeRadio(settings, constants, powerChange = 0) {
  const noiseFigure = 10 ** (settings.noise_figure_db / 10);
  return {
    speedOfLight: constants.speed_of_light,
    wavelength: constants.speed_of_light / settings.carrier,
    period: settings.num_subcarriers / settings.bandwidth,
    txPower: 10 ** ((settings.tx_power_dbm + powerChange) / 10 - 3),
    noisePower: constants.boltzmann * settings.temperature * settings.bandwidth * noiseFigure,
    numSubcarriers: settings.num_subcarriers,
    numAntennas: settings.num_antennas,
    syncWindow: settings.sync_window,
  };
}

/**
 * SNR per sample and antenna [dB] from the squared magnitude of a path gain; -Infinity for zero gain.
 * @param {number} power
 * @param {Radio} radio
 */
export function snrDb(power, radio) {
  return 10 * Math.log10((power * radio.txPower) / radio.noisePower);
}

/**
 * Non-negative remainder, as in Python.
 * @param {number} value
 * @param {number} period
 */
export function modulo(value, period) {
  const rest = value % period;
  return rest < 0 ? rest + period : rest;
}
