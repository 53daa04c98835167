/** Packs the single file: a launcher, followed by the server's code, its V8 code cache, workers, native addon and assets as text. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, extname, join } from 'node:path'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import * as esbuild from 'esbuild'
import { codePlatform } from '../lib/packed.ts'
import { thisTarget } from '../lib/store/sqlite-addon.ts'
import { freePort, programEnv } from './start-program.ts'
import { listAssets } from './browser.mjs'
import { kept, root, sha256 } from './files.mjs'
import { hashInputs, inputsLine, isInput, readVersion } from './inputs.mjs'

const zstd = (bytes, { fast = false } = {}) =>
  zlib.zstdCompressSync(bytes, {
    params: { [zlib.constants.ZSTD_c_compressionLevel]: fast ? 1 : 19 },
  })

// ── Code ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The native addon is not beside the code in a single file: its path is passed when a database is opened. */
const packedAddon = {
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

/** The packed code is a function, which has no top-level await. */
const plainStart = {
  name: 'plain-start',
  setup: build =>
    build.onLoad({ filter: /[\\/]router\.ts$/ }, ({ path }) => {
      const contents = readFileSync(path, 'utf8')
      return {
        contents: contents.replace(/if \(import\.meta\.main\)\s+await /, 'void '),
        loader: 'ts',
      }
    }),
}

/** Bundles only the English messages of zod. */
const oneLanguage = {
  name: 'one-language',
  setup: build =>
    build.onLoad({ filter: /zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js'",
      loader: 'js',
    })),
}

/** Escapes non-ASCII characters, because V8 stores other strings with two bytes per character. esbuild leaves them in regular expressions. */
const toAscii = code =>
  code.replaceAll(
    /[\u0080-\uffff]/g,
    letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** `isCurrent` would not see a change of a file that is none of the inputs. */
const checkInputs = ({ inputs }) => {
  const unseen = Object.keys(inputs).filter(
    path => !/^(?:node_modules\/|<|[\w-]+:)/.test(path) && !isInput(path),
  )
  if (unseen.length > 0) throw new Error(`${unseen.join(', ')}: missing in build/inputs.mjs`)
}

const BUNDLE = {
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

const bundle = async options => {
  const built = await esbuild.build({ ...BUNDLE, ...options })
  checkInputs(built.metafile)
  return toAscii(built.outputFiles[0].text)
}

const bundleWorker = () =>
  bundle({
    entryPoints: ['lib/sessions/search-worker.ts'],
    format: 'cjs',
    plugins: [packedAddon, oneLanguage],
  })

const bundleDocumentWorker = () =>
  bundle({
    entryPoints: ['lib/documents/document-worker.ts'],
    format: 'cjs',
    // PDF.js comes minified: it takes three seconds to find half a percent more.
    minifySyntax: false,
  })

/**
 * A CommonJS package that is imported at run time has only a default export in a split bundle of esbuild. Node gives it named
 * exports as well.
 */
const withNames = code =>
  code.replace(
    /^export default (require_\w+\(\));$/m,
    (_, exported) => `const exported = ${exported}
module.exports = Object.defineProperties(
  {},
  {
    ...Object.getOwnPropertyDescriptors(exported),
    default: { value: exported, enumerable: true },
    __esModule: { value: true },
  },
)`,
  )

const PART_PARAMETERS = 'require, module, exports, PACKED, SELF_URL, SELF_DIRECTORY'

/** `[name, code, source]` of the parts of the server: what is imported at run time only becomes a part that is loaded then. `source` is the file that is imported. */
export const bundleServer = async () => {
  const { outputFiles, metafile } = await esbuild.build({
    ...BUNDLE,
    // By the second pass, which needs whole lines.
    minifyWhitespace: false,
    lineLimit: undefined,
    entryPoints: ['router.ts'],
    format: 'esm',
    splitting: true,
    outdir: 'parts',
    chunkNames: '[name]-[hash]',
    legalComments: 'eof',
    plugins: [packedAddon, plainStart, oneLanguage],
    external: ['./browser.mjs'],
    define: { 'import.meta.url': 'SELF_URL', 'import.meta.dirname': 'SELF_DIRECTORY' },
  })
  checkInputs(metafile)
  return Promise.all(
    outputFiles.map(async ({ path, text }) => {
      const { code } = await esbuild.transform(withNames(text), {
        format: 'cjs',
        platform: 'node',
        target: BUNDLE.target,
        // Becomes a call of the launcher's `require`: a script has no modules.
        supported: { 'dynamic-import': false },
        minifySyntax: true,
        minifyWhitespace: true,
        lineLimit: BUNDLE.lineLimit,
        legalComments: 'eof',
      })
      const name = basename(path)
      const { entryPoint } = metafile.outputs[`parts/${name}`]
      return [`./${name}`, `(function (${PART_PARAMETERS}) {${toAscii(code)}\n})`, entryPoint]
    }),
  )
}

const MINIMUM_NODE = 24

/**
 * Runs first: an older Node would crash in the native addon without a message. On Linux, npm has a newer one
 * for one command.
 */
const refuseOldNode = `if (parseInt(process.versions.node) < ${MINIMUM_NODE}) {
  process.stderr.write('agent-webui needs Node.js ${MINIMUM_NODE} or newer, and this is ' + process.version + ': install it from https://nodejs.org' + (process.platform === 'linux' ? ', or run npx -p node@${MINIMUM_NODE} node ' + process.argv[1] : '') + '\\n')
  process.exit(1)
}`

/** The sentence must be reached on an old Node: its modules are looked up after it, and everything is in an old syntax. */
const OLD_NODE = 'node12.22'

const lateBuiltins = {
  name: 'late-builtins',
  setup: build => {
    build.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: 'late-builtin' }))
    build.onLoad({ filter: /./, namespace: 'late-builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}')`,
    }))
  },
}

/** The launcher: a module for the file, CommonJS for the executable. */
export const bundleLaunch = (packing, format, head = '') => {
  const self =
    format === 'esm'
      ? '{ selfUrl: import.meta.url, selfDirectory: import.meta.dirname, require: createRequire(import.meta.url) }'
      : '{ selfUrl: pathToFileURL(process.execPath).href, selfDirectory: dirname(process.execPath), require: createRequire(process.execPath) }'
  return bundle({
    stdin: {
      contents: `import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { launch } from './build/launch.mjs'
launch(PACKING, ${self})`,
      resolveDir: root,
    },
    format,
    ...(format === 'esm' ? { target: OLD_NODE, plugins: [lateBuiltins] } : {}),
    // As a string, because esbuild would insert an object into every module.
    define: {
      PACKING: JSON.stringify(packing),
      ...(format === 'cjs' ? { 'import.meta.url': 'undefined' } : {}),
    },
    banner: { js: `${head}${refuseOldNode}` },
  })
}

// ── Payload ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Concatenated base64 blocks, so that the payload is plain text inside a comment. */
const createPayload = () => {
  const texts = []
  const size = () => texts.reduce((sum, text) => sum + text.length, 0)
  const add = bytes => {
    const text = Buffer.from(bytes).toString('base64')
    const block = { at: size(), size: text.length, sha256: sha256(bytes) }
    texts.push(text)
    return block
  }
  const addAll = entries => Object.fromEntries(entries.map(([name, bytes]) => [name, add(bytes)]))
  return { add, addAll, size, text: () => texts.join('') }
}

/** Formats that compress well. */
const PACKABLE = new Set(['.js', '.css', '.html', '.json', '.webmanifest', '.txt', '.svg'])

const brotli = promisify(zlib.brotliCompress)

const compress = async ([path, asset], quality) => {
  if (!PACKABLE.has(extname(path)) || asset.raw.length < 256) return asset
  const { constants } = zlib
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: quality,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: asset.raw.length,
  }
  const br = await kept(`${quality}.br`, asset.raw, () => brotli(asset.raw, { params }))
  return br.length < asset.raw.length * 0.95 ? { ...asset, br } : asset
}

const MAXIMUM_QUALITY = 11

/** A fast build compresses fully only what the page loads first, because a test limits its size. */
const compressAssets = (assets, { fast = false } = {}) => {
  const pages = assets.filter(([path]) => extname(path) === '.html').map(([, { raw }]) => raw)
  const isFirst = path => pages.some(page => page.includes(basename(path)))
  return Promise.all(
    assets.map(asset => compress(asset, !fast || isFirst(asset[0]) ? MAXIMUM_QUALITY : 5)),
  )
}

const addons = join(root, 'node_modules', 'better-sqlite3', 'prebuilds')

const readAddon = target => {
  const path = join(addons, `${target}.node`)
  if (existsSync(path)) return readFileSync(path)
  const known = readdirSync(addons).map(name => basename(name, '.node'))
  throw new Error(`No native addon for ${target}; --target is one of ${known.join(', ')}`)
}

/** Of what rarely changes. The strongest compression of a fresh clone's first build would take as long as the rest of it. */
const zstdOnce = (bytes, speed) =>
  speed.fast ? zstd(bytes, speed) : kept('zst', bytes, async () => zstd(bytes))

const packAddon = async (target, speed) => {
  const addon = readAddon(target)
  return [target, { packed: await zstdOnce(addon, speed), sha256: sha256(addon) }]
}

/** Everything that goes into the file, compressed. */
const gather = async (targets, speed) => {
  // First: what changes while the build reads is built again by the next start.
  const inputs = await hashInputs(root)
  const [{ assets, metafile }, server, worker, documentWorker] = await Promise.all([
    listAssets(),
    bundleServer(),
    bundleWorker(),
    bundleDocumentWorker(),
  ])
  checkInputs(metafile)
  return {
    inputs,
    version: await readVersion(root),
    addons: await Promise.all(targets.map(target => packAddon(target, speed))),
    server: server.map(([name, code]) => [name, zstd(code, speed)]),
    worker: zstd(worker, speed),
    documentWorker: await zstdOnce(Buffer.from(documentWorker), speed),
    names: assets.map(([path]) => path),
    assets: await compressAssets(assets, speed),
  }
}

/** `{ packing, payload }`: the index for the launcher, and the text it points into. */
const lay = (parts, compiled) => {
  const payload = createPayload()
  const contents = {
    addons: Object.fromEntries(
      parts.addons.map(([target, { packed, sha256 }]) => [
        target,
        { block: payload.add(packed), sha256 },
      ]),
    ),
    server: payload.addAll(parts.server),
    ...(compiled
      ? { compiled: { platform: codePlatform(), blocks: payload.addAll(compiled) } }
      : {}),
    worker: payload.add(parts.worker),
    documentWorker: payload.add(parts.documentWorker),
    assets: parts.assets.map(({ raw, br, ...asset }, index) => ({
      path: parts.names[index],
      ...asset,
      ...(br ? { br: payload.add(br) } : { raw: payload.add(raw) }),
    })),
  }
  const block = payload.add(JSON.stringify(contents))
  const packing = { version: parts.version, payloadSize: payload.size(), contents: block }
  return { packing: JSON.stringify(packing), payload: payload.text(), inputs: parts.inputs }
}

export const fileText = async ({ packing, payload, inputs }) => {
  const head = `#!/usr/bin/env node\n${inputsLine(inputs)}\n`
  return `${await bundleLaunch(packing, 'esm', head)}\n/*${payload}*/\n`
}

/** Creates the V8 code caches by running the packed file until its first responses. They save a third of the start time. */
const compileAhead = async (laid, speed) => {
  const directory = mkdtempSync(join(tmpdir(), 'agent-webui-warm-'))
  const at = name => join(directory, name)
  try {
    writeFileSync(at('file.mjs'), await fileText(laid))
    writeFileSync(at('packing'), laid.packing)
    const warm = join(root, 'build', 'warm.mjs')
    const run = spawnSync(process.execPath, [warm, at('file.mjs'), at('packing'), at('out')], {
      env: programEnv(directory, await freePort()),
      encoding: 'utf8',
      timeout: 120_000,
    })
    if (run.status !== 0) throw new Error(`what was packed does not run:\n${run.stderr}`)
    return readdirSync(at('out')).map(name => [
      `./${name}`,
      zstd(readFileSync(join(at('out'), name)), speed),
    ])
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** `speed.fast`: compresses less what changes with every build. The file runs on each of the targets. */
export const pack = async (targets, speed) => {
  const parts = await gather(targets, speed)
  const runsHere = targets.includes(thisTarget())
  return lay(parts, runsHere ? await compileAhead(lay(parts), speed) : undefined)
}
