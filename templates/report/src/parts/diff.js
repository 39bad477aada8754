const MOST = 3000, AROUND = 2;

/**
 * What differs between two texts, line by line (longest common subsequence).
 * @returns {{kind: 'same'|'added'|'removed'|'gap', text: string}[]} empty when they are equal
 */
export function diffLines(before, after, onlyDiffering = true) {
  if (before === after) return [];
  const a = before.split('\n').slice(0, MOST), b = after.split('\n').slice(0, MOST);
  const lines = walk(a, b, lengths(a, b));
  return onlyDiffering ? near(lines) : lines;
}

function lengths(a, b) {
  const width = b.length + 1, table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; --i) {
    for (let j = b.length - 1; j >= 0; --j) {
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  return table;
}

function walk(a, b, table) {
  const width = b.length + 1, lines = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) lines.push({kind: 'same', text: a[i++]}), ++j;
    else if (i < a.length && (j >= b.length || table[(i + 1) * width + j] >= table[i * width + j + 1])) lines.push({kind: 'removed', text: a[i++]});
    else lines.push({kind: 'added', text: b[j++]});
  }
  return lines;
}

/** Lines that differ, with two lines around them. */
function near(lines) {
  const isKept = lines.map((_, i) => lines.slice(Math.max(0, i - AROUND), i + AROUND + 1).some(({kind}) => kind !== 'same'));
  const kept = [];
  lines.forEach((line, i) => {
    if (isKept[i]) kept.push(line);
    else if (i && isKept[i - 1] && isKept.lastIndexOf(true) > i) kept.push({kind: 'gap', text: ''});
  });
  return kept;
}
