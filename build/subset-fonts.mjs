/**
 * `npm run fonts`: makes build/fonts, the subsets of variable fonts that the page uses, with their licenses. They are kept
 * in the repository, because making them takes as long as the rest of a build; a test compares them.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import subsetFont from 'subset-font'
import { FONTS_DIRECTORY, LICENSE } from './fonts.mjs'
import { root } from './files.mjs'

const codes = (from, to) =>
  String.fromCodePoint(...Array.from({ length: to - from + 1 }, (_, index) => from + index))

/** Western European languages and typographic punctuation; the browser takes other characters from the system's fonts. */
const LATIN = `${codes(0x20, 0x7e)}${codes(0xa0, 0xff)}ıŒœŠšŽžŸ–—‘’‚“”„†‡•…‰‹›⁄€™−↑↓`
/** Central European languages and Turkish, in files of their own (`unicode-range` in fonts.css). */
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

const subset = ([family, file, text, variationAxes, keepFeatures]) => {
  const bytes = readFileSync(join(packageOf(family), 'files', `${family}-${file}.woff2`))
  const options = { targetFormat: 'woff2', variationAxes, keepFeatures, noHinting: true }
  return subsetFont(bytes, text, options)
}

/** The SIL Open Font License asks that its text and the copyright notices accompany the fonts. */
const licenses = () =>
  [...new Set(Object.values(FONTS).map(([family]) => family))]
    .map(family => readFileSync(join(packageOf(family), 'LICENSE'), 'utf8').trim())
    .join(`\n\n${'='.repeat(80)}\n\n`)

/** `[name, bytes]` of every file in build/fonts. */
export const makeFonts = async () => [
  ...(await Promise.all(
    Object.entries(FONTS).map(async ([name, font]) => [name, await subset(font)]),
  )),
  [LICENSE, Buffer.from(licenses())],
]

if (import.meta.main) {
  mkdirSync(FONTS_DIRECTORY, { recursive: true })
  for (const [name, bytes] of await makeFonts()) writeFileSync(join(FONTS_DIRECTORY, name), bytes)
}
