/** The fonts of the page: subsets of variable fonts, made once and cached, as `font:sans.woff2` in style sheets. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { kept, root } from './files.mjs'

const codes = (from, to) =>
  String.fromCodePoint(...Array.from({ length: to - from + 1 }, (_, index) => from + index))

/** Western European languages and typographic punctuation; the browser takes other characters from the system's fonts. */
const LATIN = `${codes(0x20, 0x7e)}${codes(0xa0, 0xff)}ıŒœŠšŽžŸ–—‘’‚“”„†‡•…‰‹›⁄€™−↑↓`
/** Central European languages and Turkish, in files of their own (`unicode-range` in fonts-more.css). */
const LATIN_EXTENDED = codes(0x100, 0x17f)

const FEATURES = ['kern', 'ccmp', 'mark', 'locl', 'tnum']
/** Without `calt` and `liga`: a ligature would show other characters than the code has. */
const CODE_FEATURES = ['ccmp', 'mark']

const WEIGHTS = { wght: { min: 400, max: 700 } }

const FONTS = {
  'sans.woff2': ['inter', 'latin-wght-normal', LATIN, WEIGHTS, FEATURES],
  'sans-italic.woff2': ['inter', 'latin-wght-italic', LATIN, WEIGHTS, FEATURES],
  'sans-extended.woff2': ['inter', 'latin-ext-wght-normal', LATIN_EXTENDED, WEIGHTS, FEATURES],
  // Titles have one weight.
  'serif.woff2': ['source-serif-4', 'latin-wght-normal', LATIN, { wght: 600 }, FEATURES],
  'serif-text.woff2': ['source-serif-4', 'latin-wght-normal', LATIN, WEIGHTS, FEATURES],
  'serif-italic.woff2': ['source-serif-4', 'latin-wght-italic', LATIN, WEIGHTS, FEATURES],
  'serif-extended.woff2': [
    'source-serif-4',
    'latin-ext-wght-normal',
    LATIN_EXTENDED,
    WEIGHTS,
    FEATURES,
  ],
  'mono.woff2': ['jetbrains-mono', 'latin-wght-normal', LATIN, WEIGHTS, CODE_FEATURES],
}

const packageOf = family => join(root, 'node_modules', '@fontsource-variable', family)

const subset = async name => {
  const [family, file, text, variationAxes, keepFeatures] = FONTS[name]
  const bytes = readFileSync(join(packageOf(family), 'files', `${family}-${file}.woff2`))
  const options = { targetFormat: 'woff2', variationAxes, keepFeatures, noHinting: true }
  const key = createHash('sha256')
    .update(bytes)
    .update(JSON.stringify([text, options]))
    .digest()
  return kept('woff2', key, async () => {
    const { default: subsetFont } = await import('subset-font')
    return subsetFont(bytes, text, options)
  })
}

/** `url("font:sans.woff2")` → `url("./sans-4F2AQX7B.woff2")`. */
export const fonts = {
  name: 'fonts',
  setup: build => {
    build.onResolve({ filter: /^font:/ }, ({ path }) => ({
      path: path.slice(5),
      namespace: 'font',
    }))
    build.onLoad({ filter: /./, namespace: 'font' }, async ({ path }) => ({
      contents: await subset(path),
      loader: 'file',
    }))
  },
}

/** The SIL Open Font License asks that its text and the copyright notices accompany the fonts. */
export const fontLicenses = () =>
  [...new Set(Object.values(FONTS).map(([family]) => family))]
    .map(family => readFileSync(join(packageOf(family), 'LICENSE'), 'utf8').trim())
    .join(`\n\n${'='.repeat(80)}\n\n`)

/** Names without a hash, for the templates: `sans.woff2` → `sans-4F2AQX7B.woff2`. */
export const fontNames = outputs =>
  Object.keys(outputs)
    .map(path => basename(path))
    .filter(name => FONTS[name.replace(/-[A-Z0-9]{8}(?=\.woff2$)/, '')])
    .map(name => [name.replace(/-[A-Z0-9]{8}(?=\.woff2$)/, ''), name])
