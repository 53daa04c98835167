/** Packs the single file: a launcher, followed by the server's code, its V8 code cache, workers, native addon and assets as text. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { codePlatform } from '../lib/store/packed.ts'
import { thisTarget } from '../lib/store/unpack-native.ts'
import { listAssets } from './browser.mjs'
import { PAYLOAD_MARK } from './run-built.cjs'
import { kept, root, sha256 } from './files.mjs'
import { bundleServer, joinParts, PACKAGE_PARTS } from './server-parts.mjs'
import { warmUp } from './warm-up.mjs'
import { bundle, checkInputs, oneLanguage, packedAddon } from './bundle.mjs'
import { hashInputs, inputsLine, readVersion } from './inputs.mjs'

const zstd = (bytes, { fast = false } = {}) =>
  zlib.zstdCompressSync(bytes, {
    params: { [zlib.constants.ZSTD_c_compressionLevel]: fast ? 1 : 19 },
  })

// ── Code ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const bundleWorker = () =>
  bundle({
    entryPoints: ['lib/sessions/search-worker.ts'],
    format: 'cjs',
    plugins: [packedAddon, oneLanguage],
  })

const bundleDocumentWorker = () =>
  bundle({
    entryPoints: ['lib/workspaces/documents/document-worker.ts'],
    format: 'cjs',
    // PDF.js comes minified: it takes three seconds to find half a percent more.
    minifySyntax: false,
  })

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

/** The most that a start may load before its first answer. More is a feature that should load with its first use. */
const START_PARTS = 255

// ── Payload ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Concatenated base64 blocks, so that the payload is plain text inside a comment. */
const createPayload = () => {
  const texts = []
  const size = () => texts.reduce((sum, text) => sum + text.length, 0)
  const add = bytes => {
    const text = Buffer.from(bytes).toString('base64')
    const block = { at: size(), size: text.length, crc32: zlib.crc32(bytes) }
    texts.push(text)
    return block
  }
  return { add, size, text: () => texts.join('') }
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
    server,
    worker: zstd(worker, speed),
    documentWorker: await zstdOnce(Buffer.from(documentWorker), speed),
    names: assets.map(([path]) => path),
    assets: await compressAssets(assets, speed),
  }
}

/** The name of a script with one part. */
const scriptOf = part => part.slice(2, -3)

/**
 * `{ packing, payload }`: the index for the launcher, and the text it points into. `scripts` are `{ name, parts }`, the first of
 * them for every start; parts that none names are scripts of their own. `caches`: V8's code caches by name of script.
 */
const lay = (gathered, speed, scripts, caches = new Map()) => {
  const payload = createPayload()
  const addSized = bytes => ({ ...payload.add(zstd(bytes, speed)), bytes: bytes.length })
  const parts = new Map(gathered.server.map(part => [part.name, part]))
  const addScript = ({ name, parts: names }) => ({
    name,
    code: addSized(Buffer.from(joinParts(names.map(part => parts.get(part))), 'latin1')),
    ...(caches.has(name) && { compiled: addSized(caches.get(name)) }),
  })
  const [start, ...others] = scripts
  const first = addScript(start)
  const named = new Set(scripts.flatMap(script => script.parts))
  const single = gathered.server
    .filter(({ name }) => !named.has(name))
    .map(({ name }) => ({ name: scriptOf(name), parts: [name] }))
  const addons = gathered.addons.map(([target, { packed, sha256 }]) => [
    target,
    { block: payload.add(packed), sha256 },
  ])
  const contents = {
    scripts: [...others, ...single].map(script => ({
      ...addScript(script),
      parts: script.parts,
    })),
    worker: payload.add(gathered.worker),
    documentWorker: payload.add(gathered.documentWorker),
    assets: gathered.assets.map(({ raw, br, ...asset }, index) => ({
      path: gathered.names[index],
      ...asset,
      ...(br ? { br: payload.add(br) } : { raw: payload.add(raw) }),
    })),
  }
  const packing = {
    version: gathered.version,
    platform: codePlatform(),
    first,
    addons: Object.fromEntries(addons),
    contents: payload.add(zstd(JSON.stringify(contents), speed)),
  }
  return {
    packing: JSON.stringify({ ...packing, payloadSize: payload.size() }),
    payload: payload.text(),
    inputs: gathered.inputs,
  }
}

export const fileText = async ({ packing, payload, inputs }) => {
  const head = `#!/usr/bin/env node\n${inputsLine(inputs)}\n`
  return `${await bundleLaunch(packing, 'esm', head)}${PAYLOAD_MARK}${payload}*/\n`
}

const warm = async laid => warmUp(await fileText(laid), laid.packing)

/**
 * What a start, the first page, and the first turn load becomes a script each. What an error and the stop need is with the start: a
 * file that was overwritten since has it no more. A script for each part would take a tenth of a
 * millisecond each, and one for all would be unpacked and kept although most is never used.
 */
const group = async parts => {
  const all = [{ name: 'all', parts: parts.server.map(({ name }) => name) }]
  const { scripts, last } = await warm(lay(parts, { fast: true }, all))
  const [{ parts: first }] = scripts
  if (process.env.CHECK_START && first.length > START_PARTS)
    throw new Error(
      `A start loads ${first.length} parts, and ${START_PARTS} are allowed:\n${first.join('\n')}`,
    )
  // Only some starts need a package.
  const isPackage = part => PACKAGE_PARTS.has(part)
  first.push(...last)
  return [
    ...scripts.map(({ name, parts }) => ({ name, parts: parts.filter(part => !isPackage(part)) })),
    ...[...PACKAGE_PARTS].map(part => ({ name: scriptOf(part), parts: [part] })),
  ]
}

/** `speed.fast`: compresses less what changes with every build. The file runs on each of the targets. */
export const pack = async (targets, speed) => {
  const parts = await gather(targets, speed)
  const here = thisTarget()
  const runsHere = targets.includes(here)
  // The same code runs everywhere, with an addon of this machine.
  const local = runsHere ? parts : { ...parts, addons: [await packAddon(here, { fast: true })] }
  const scripts = await group(local)
  if (!runsHere) return lay(parts, speed, scripts)
  const { caches } = await warm(lay(parts, { fast: true }, scripts))
  return lay(parts, speed, scripts, caches)
}
