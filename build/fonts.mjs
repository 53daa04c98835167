/** The fonts of the page, made by build/subset-fonts.mjs, as `font:sans.woff2` in style sheets. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

export const FONTS_DIRECTORY = join(import.meta.dirname, 'fonts')
export const LICENSE = 'LICENSE.txt'

/** `url("font:sans.woff2")` → `url("./sans-4F2AQX7B.woff2")`. */
export const fonts = {
  name: 'fonts',
  setup: build => {
    build.onResolve({ filter: /^font:/ }, ({ path }) => ({
      path: path.slice(5),
      namespace: 'font',
    }))
    build.onLoad({ filter: /./, namespace: 'font' }, ({ path }) => ({
      contents: readFileSync(join(FONTS_DIRECTORY, path)),
      loader: 'file',
    }))
  },
}

/** They accompany the fonts. */
export const fontLicenses = () => readFileSync(join(FONTS_DIRECTORY, LICENSE), 'utf8')

/** Names without a hash, for the templates: `sans.woff2` → `sans-4F2AQX7B.woff2`. */
export const fontNames = outputs => {
  const names = new Set(readdirSync(FONTS_DIRECTORY))
  return Object.keys(outputs)
    .map(path => basename(path))
    .filter(name => names.has(name.replace(/-[A-Z0-9]{8}(?=\.woff2$)/, '')))
    .map(name => [name.replace(/-[A-Z0-9]{8}(?=\.woff2$)/, ''), name])
}
