/** Values between scattered points: a weighted mean of all of them, with weights that fall with the distance. */

const MOST_POINTS = 1200;

/**
 * @param {number[]} us @param {number[]} vs places in the unit square @param {number[]} values
 * @returns {Float64Array} size * size values, row by row; NaN far from every point
 */
export function interpolate(us, vs, values, size) {
  const each = Math.max(1, Math.ceil(us.length / MOST_POINTS)), width = 0.07, result = new Float64Array(size * size);
  for (let row = 0; row < size; ++row) {
    for (let column = 0; column < size; ++column) {
      const u = (column + 0.5) / size, v = (row + 0.5) / size;
      let sum = 0, weights = 0, nearest = Infinity;
      for (let i = 0; i < us.length; i += each) {
        const distance = (us[i] - u) ** 2 + (vs[i] - v) ** 2, weight = Math.exp(-distance / (2 * width * width)) + 1e-9 / (distance + 1e-6);
        sum += weight * values[i];
        weights += weight;
        if (distance < nearest) nearest = distance;
      }
      result[row * size + column] = nearest < 0.04 ? sum / weights : NaN;
    }
  }
  return result;
}
