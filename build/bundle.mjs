/** How esbuild makes the code of the program: options, and plugins that several bundles need. */
import { readFileSync } from 'node:fs'
import * as esbuild from 'esbuild'
import { root } from './files.mjs'
import { isInput } from './inputs.mjs'

/** The native addon is not beside the code in a single file: its path is passed when a database is opened. */
export const packedAddon = {
  name: 'packed-addon',
  setup: build =>
    build.onLoad({ filter: /better-sqlite3[\\/]lib[\\/]binding\.js$/ }, () => ({
      contents: `const loaded = new Map()
exports.getBinding = path => {
  if (typeof path !== 'string') throw new Error('The path of the native addon is missing')
  if (!loaded.has(path)) {
    const module = { exports: {} }
    process.dlopen(module, path)
    loaded.set(path, module.exports)
  }
  return loaded.get(path)
}`,
      loader: 'js',
    })),
}

/** Bundles only the English messages of zod. */
export const oneLanguage = {
  name: 'one-language',
  setup: build =>
    build.onLoad({ filter: /zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js'",
      loader: 'js',
    })),
}

/** What index.js of undici loads and nothing of ours uses. With `fetch`, it is a third of the code, and all of it would run with the first request. */
const UNUSED_OF_UNDICI = /^\.\/lib\/(?:mock|interceptor|cache|web)\//

/** undici without them, and with its `fetch` loaded when it is called: providers are asked with `request`. */
export const smallUndici = {
  name: 'small-undici',
  setup: build => {
    build.onResolve({ filter: /^\.\/lib\// }, ({ importer, path }) => {
      if (!/undici[\\/]index\.js$/.test(importer)) return undefined
      if (path === './lib/web/fetch') return { path, namespace: 'late-fetch' }
      return UNUSED_OF_UNDICI.test(path) ? { path: 'unused', namespace: 'unused' } : undefined
    })
    build.onLoad({ filter: /.*/, namespace: 'late-fetch' }, () => ({
      contents: `exports.fetch = async (...given) =>
  (await import('undici/lib/web/fetch/index.js')).default.fetch(...given)`,
      resolveDir: root,
    }))
    build.onLoad({ filter: /.*/, namespace: 'unused' }, () => ({
      // Made with a symbol, by undici itself, while it loads.
      contents: `class NotBuilt {
  constructor(by) {
    if (typeof by !== 'symbol') throw new Error('The build leaves this part of undici out.')
  }
}
module.exports = new Proxy({}, { get: () => NotBuilt })`,
    }))
  },
}

const LOCALE_ORDER = /([\w.]+)\.localeCompare\(([\w.]+)\)/g

/** The table of prices sorts names of its fields, which are ASCII, in the order of a language: that reads the data of all languages, 2 MB that stay. */
export const plainOrder = {
  name: 'plain-order',
  setup: build =>
    build.onLoad({ filter: /genai-prices[\\/]dist[\\/]index\.js$/ }, ({ path }) => {
      const code = readFileSync(path, 'utf8')
      return { contents: code.replace(LOCALE_ORDER, '($1 < $2 ? -1 : 1)'), loader: 'js' }
    }),
}

/** Escapes non-ASCII characters, because V8 stores other strings with two bytes per character. esbuild leaves them in regular expressions. */
export const toAscii = code =>
  code.replaceAll(
    /[\u0080-\uffff]/g,
    letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** `isCurrent` would not see a change of a file that is none of the inputs. */
export const checkInputs = ({ inputs }) => {
  const unseen = Object.keys(inputs).filter(
    path => !/^(?:node_modules\/|<|[\w-]+:)/.test(path) && !isInput(path),
  )
  if (unseen.length > 0) throw new Error(`${unseen.join(', ')}: missing in build/inputs.mjs`)
}

export const BUNDLE = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node24',
  minifySyntax: true,
  minifyWhitespace: true,
  // An uncaught error prints its source line, which must not be the whole program.
  lineLimit: 160,
  write: false,
  metafile: true,
  logLevel: 'silent',
}

export const bundle = async options => {
  const built = await esbuild.build({ ...BUNDLE, ...options })
  checkInputs(built.metafile)
  return toAscii(built.outputFiles[0].text)
}
