/**
 * Filters like `state=failed lr<0.01 adam`: all words must match. A word is a comparison with a column, or text that
 * a cell contains.
 * @param {string} words @param {import('./grid.js').Column[]} columns
 * @returns {{test: (row: number) => boolean, problem: string}}
 */
export function readFilter(words, columns) {
  const tests = [], problems = [];
  for (const word of words.trim().split(/\s+/).filter(Boolean)) {
    const parts = /^(.+?)(<=|>=|!=|<|>|=|:)(.*)$/.exec(word);
    const column = parts && columns.find((each) => each.title.toLowerCase() === parts[1].toLowerCase() || each.key === parts[1]);
    if (parts && column) tests.push(comparison(column, parts[2], parts[3]));
    else if (parts && /[<>=]/.test(parts[2])) problems.push(`No column "${parts[1]}"`);
    else tests.push(contains(columns, word.toLowerCase()));
  }
  return {test: (row) => tests.every((test) => test(row)), problem: problems.join('; ')};
}

function contains(columns, word) {
  return (row) => columns.some((column) => column.text(row).toLowerCase().includes(word));
}

function comparison(column, operator, wanted) {
  const number = Number(wanted), isNumber = wanted !== '' && Number.isFinite(number);
  const compare = (value) => (isNumber && typeof value === 'number' ? value - number : String(value).localeCompare(wanted));
  const isEqual = (value) => (isNumber && typeof value === 'number' ? value === number : String(value).toLowerCase() === wanted.toLowerCase());
  const tests = {
    '<': (value) => compare(value) < 0, '<=': (value) => compare(value) <= 0, '>': (value) => compare(value) > 0,
    '>=': (value) => compare(value) >= 0, '=': isEqual, '!=': (value) => !isEqual(value),
    ':': (value) => String(value).toLowerCase().includes(wanted.toLowerCase()),
  };
  return (row) => {
    const value = column.value(row);
    return value != null && tests[operator](value);
  };
}
