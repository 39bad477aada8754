/** Bundles src/ into dist/: report.js, report.css, LICENSES.txt and SOURCES.sha256. */
import {createHash} from 'node:crypto';
import {mkdirSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
import {build} from 'esbuild';

const common = {bundle: true, minify: true, charset: 'utf8', logLevel: 'warning', legalComments: 'none'};
mkdirSync('dist', {recursive: true});
const made = await build({...common, entryPoints: ['src/main.js'], outfile: 'dist/report.js', format: 'iife', target: 'es2021', metafile: true});
await build({...common, entryPoints: ['src/report.css'], outfile: 'dist/report.css', target: 'chrome100'});

/** The packages whose code is in the bundle. */
function packages() {
  const found = Object.keys(made.metafile.inputs).map((path) => /node_modules\/([^/]+)\//.exec(path)?.[1]);
  return [...new Set(found.filter(Boolean))].sort();
}

function licence(name) {
  const folder = `node_modules/${name}`, {version, license} = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, 'utf8').trim()}\n`;
}

function sources(folder) {
  return readdirSync(folder, {withFileTypes: true}).flatMap((each) => (each.isDirectory() ? sources(`${folder}/${each.name}`) : [`${folder}/${each.name}`]));
}

const hash = (path) => createHash('sha256').update(readFileSync(path)).digest('hex');
writeFileSync('dist/LICENSES.txt', packages().map(licence).join('\n----\n\n'));
writeFileSync('dist/SOURCES.sha256', [...sources('src'), 'package.json', 'package-lock.json', 'build.mjs'].sort().map((path) => `${hash(path)}  ${path}\n`).join(''));
