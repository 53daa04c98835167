/** Builds the browser's assets, and packs router.ts, assets, search worker and native addon into ONE file, dist/agent-webui.mjs; `--exe` makes one executable of it. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, extname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import zlib from 'node:zlib'
import * as esbuild from 'esbuild'
import { createAsset } from './lib/http/static.ts'

const root = dirname(fileURLToPath(import.meta.url))
const dist = join(root, 'dist')
const sha256 = bytes => createHash('sha256').update(bytes).digest('hex')

// ── The browser's half ──────────────────────────────────────────────────────────────────────────────────────────────

/** Already compressed formats gain nothing. */
const PACKABLE = new Set(['.js', '.css', '.html', '.json', '.webmanifest', '.txt', '.svg'])
const CODE = new Set(['.ts', '.tsx', '.css'])

const ENTRIES = ['public/main.tsx', 'public/style/main.css']

/** KaTeX offers each font three times; every browser we serve reads woff2. */
const onlyWoff2 = {
  name: 'only-woff2',
  setup: build =>
    build.onLoad({ filter: /katex(\.min)?\.css$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(
        /,\s*url\([^)]*\.(?:woff|ttf)\)\s*format\("[^"]*"\)/g,
        '',
      ),
      loader: 'css',
    })),
}

/** Bundles public/ in memory. `index.html` names `static/main.js`; here the names get their hashes. */
export const bundleBrowser = ({ minify = true } = {}) =>
  esbuild.build({
    absWorkingDir: root,
    entryPoints: ENTRIES,
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify,
    write: false,
    metafile: true,
    outdir: 'static',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    legalComments: 'linked',
    define: { 'process.env.NODE_ENV': minify ? '"production"' : '"development"' },
    loader: { '.woff2': 'file', '.svg': 'file', '.png': 'file' },
    plugins: [onlyWoff2],
    logLevel: 'silent',
  })

const readTree = directory =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))

/** What an output loads at once, through however many chunks; lazy ones are not among it. */
const staticImports = (path, outputs) =>
  outputs[path].imports
    .filter(({ kind, external }) => kind === 'import-statement' && !external)
    .flatMap(({ path: next }) => [next, ...staticImports(next, outputs)])

/** `static/main.js` → `static/main-4F2AQX7B.js` wherever the page names an entry, and all it needs asked for at once. */
const hashNames = (html, outputs) =>
  Object.entries(outputs)
    .filter(([, output]) => ENTRIES.includes(output.entryPoint))
    .reduce((text, [path, { entryPoint }]) => {
      const plain = `static/${basename(entryPoint, extname(entryPoint))}${extname(path)}`
      const preloads = [...new Set(staticImports(path, outputs))]
        .map(chunk => `<link rel="modulepreload" href="${chunk}">\n    `)
        .join('')
      return text
        .replace(`<script type="module" src="${plain}">`, found => preloads + found)
        .replaceAll(plain, path)
    }, html)

const toEntry = (path, bytes, immutable) => [path, createAsset(path, bytes, { immutable })]

/** Every file the service hands to a browser, uncompressed: `[path, asset]`. */
const listAssets = async options => {
  const built = await bundleBrowser(options)
  const { outputs } = built.metafile
  const publicDir = join(root, 'public')
  const assets = built.outputFiles.map(file =>
    toEntry(`/static/${basename(file.path)}`, Buffer.from(file.contents), true),
  )
  for (const path of readTree(publicDir)) {
    const name = relative(publicDir, path).split(sep).join('/')
    if (CODE.has(extname(name))) continue
    const bytes = readFileSync(path)
    if (extname(name) === '.html') {
      assets.push(toEntry(name, Buffer.from(hashNames(bytes.toString(), outputs)), false))
    } else {
      // Flat, as the bundles are: pictures and the manifest lie in folders of the sources only.
      assets.push(toEntry(`/static/${basename(name)}`, bytes, false))
    }
  }
  return { assets, metafile: built.metafile }
}

/** What an unbuilt run serves: the same table, made at start, not minified and not compressed. */
export const buildAssets = async () => new Map((await listAssets({ minify: false })).assets)

const brotli = promisify(zlib.brotliCompress)

/** Compression at its highest is slow and its result depends on the bytes alone: kept between builds. */
const kept = async (name, bytes, make) => {
  const directory = join(root, 'node_modules', '.cache', 'agent-webui')
  const path = join(directory, `${sha256(bytes)}.${name}`)
  if (existsSync(path)) return readFileSync(path)
  const made = await make()
  replaceFile(path, made, 0o644)
  return made
}

const compress = async ([path, asset]) => {
  if (!PACKABLE.has(extname(path)) || asset.raw.length < 256) return asset
  const { constants } = zlib
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 11,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: asset.raw.length,
  }
  const br = await kept('br', asset.raw, () => brotli(asset.raw, { params }))
  return br.length < asset.raw.length * 0.95 ? { ...asset, br } : asset
}

// ── The one file ────────────────────────────────────────────────────────────────────────────────────────────────────

const MINIMUM_NODE = 24

/** Runs before everything else: an older Node would crash in the addon instead of saying so. */
const refuseOldNode = `if (parseInt(process.versions.node) < ${MINIMUM_NODE}) {
  process.stderr.write('agent-webui needs Node.js ${MINIMUM_NODE} or newer; this is ' + process.version + '\\n')
  process.exit(1)
}`

/** The addon is not beside the code in one file: whoever opens a database hands over its path. */
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

/** An executable application is CommonJS, where nothing can be awaited at top level. */
const plainStart = {
  name: 'plain-start',
  setup: build =>
    build.onLoad({ filter: /[\\/]router\.ts$/ }, ({ path }) => {
      if (build.initialOptions.format !== 'cjs') return undefined
      const contents = readFileSync(path, 'utf8')
      return { contents: contents.replace('if (import.meta.main) await ', 'void '), loader: 'ts' }
    }),
}

/** zod speaks fifty languages; what it says here is English. */
const oneLanguage = {
  name: 'one-language',
  setup: build =>
    build.onLoad({ filter: /zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js'",
      loader: 'js',
    })),
}

const serverOptions = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node24',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'eof',
  write: false,
  plugins: [packedAddon, plainStart, oneLanguage],
  external: ['../build.mjs'],
  logLevel: 'silent',
}

const bundleWorker = async () => {
  const entry = 'lib/sessions/search-worker.ts'
  const built = await esbuild.build({ ...serverOptions, entryPoints: [entry], format: 'cjs' })
  return Buffer.from(built.outputFiles[0].contents)
}

/**
 * One letter beyond Latin-1 would make V8 hold code and payload with two bytes a letter and read them at half the speed.
 * esbuild leaves such letters in regular expressions only, where the escape means the same.
 */
const toAscii = code =>
  code.replaceAll(
    /[\u0080-\uffff]/g,
    letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

const bundleServer = async (packing, format) => {
  const isModule = format === 'esm'
  const built = await esbuild.build({
    ...serverOptions,
    entryPoints: ['router.ts'],
    format,
    define: {
      // Text, not an object: esbuild would hand an object through every module.
      PACKING: JSON.stringify(JSON.stringify(packing)),
      ...(isModule ? {} : { 'import.meta.url': 'selfUrl', 'import.meta.dirname': 'selfDirectory' }),
    },
    banner: {
      js: isModule
        ? `#!/usr/bin/env node\nimport { createRequire as requireOf } from 'node:module'\n${refuseOldNode}\nconst require = requireOf(import.meta.url)`
        : `${refuseOldNode}\nconst selfUrl = require('node:url').pathToFileURL(process.execPath).href\nconst selfDirectory = require('node:path').dirname(process.execPath)`,
    },
  })
  return toAscii(built.outputFiles[0].text)
}

/** Blocks one after the other as base64, so that the payload is plain text inside a comment. */
const createPayload = () => {
  const texts = []
  const size = () => texts.reduce((sum, text) => sum + text.length, 0)
  const add = bytes => {
    const text = Buffer.from(bytes).toString('base64')
    const block = { at: size(), size: text.length, sha256: sha256(bytes) }
    texts.push(text)
    return block
  }
  return { add, size, text: () => texts.join('') }
}

const packAddon = target => {
  const path = join(root, 'node_modules', 'better-sqlite3', 'prebuilds', `${target}.node`)
  if (!existsSync(path)) {
    const known = readdirSync(dirname(path)).map(name => basename(name, '.node'))
    throw new Error(`No native addon for ${target}; --target is one of ${known.join(', ')}`)
  }
  const bytes = readFileSync(path)
  const params = { [zlib.constants.ZSTD_c_compressionLevel]: 19 }
  return { bytes, packed: kept('zst', bytes, async () => zlib.zstdCompressSync(bytes, { params })) }
}

/** The tag or commit of this checkout, else what a release or container build wrote into VERSION. */
const readVersion = () => {
  if (existsSync(join(root, '.git'))) {
    const options = { cwd: root, encoding: 'utf8', timeout: 3000 }
    const git = spawnSync('git', ['describe', '--tags', '--always', '--dirty'], options)
    if (git.status === 0 && git.stdout.trim()) return git.stdout.trim()
  }
  const path = join(root, 'VERSION')
  return (existsSync(path) && readFileSync(path, 'utf8').trim()) || 'unknown'
}

/** `{ packing, payload }`: the table of contents and the text it points into. */
const pack = async target => {
  const payload = createPayload()
  const { bytes, packed } = packAddon(target)
  const addon = { block: payload.add(await packed), sha256: sha256(bytes) }
  const worker = payload.add(zlib.zstdCompressSync(await bundleWorker()))
  const listed = await listAssets()
  const assets = await Promise.all(listed.assets.map(compress))
  const packedAssets = assets.map(({ raw, br, ...asset }, index) => ({
    path: listed.assets[index][0],
    ...asset,
    ...(br ? { br: payload.add(br) } : { raw: payload.add(raw) }),
  }))
  const contents = payload.add(JSON.stringify({ worker, addon, assets: packedAssets }))
  const packing = { version: readVersion(), target, payloadSize: payload.size(), contents }
  return { packing, payload: payload.text() }
}

/** A service that runs from the file keeps the old one until it closes it. */
const replaceFile = (path, contents, mode) => {
  const temporary = `${path}.${process.pid}.tmp`
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(temporary, contents)
  chmodSync(temporary, mode)
  renameSync(temporary, path)
}

const buildFile = async ({ packing, payload }) => {
  const path = join(dist, 'agent-webui.mjs')
  replaceFile(path, `${await bundleServer(packing, 'esm')}\n/*${payload}*/\n`, 0o755)
  return path
}

// ── The one executable ──────────────────────────────────────────────────────────────────────────────────────────────

const SEA_FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

const postject = join(root, 'node_modules', 'postject', 'dist', 'cli.js')

/** Its output is for the case that it fails: both tools warn of what is no problem. */
const runNode = (...args) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${stdout}${stderr}`)
}

const buildExecutable = async ({ packing, payload }) => {
  const directory = mkdtempSync(join(tmpdir(), 'agent-webui-build-'))
  const at = name => join(directory, name)
  try {
    writeFileSync(at('main.cjs'), await bundleServer(packing, 'cjs'))
    writeFileSync(at('payload'), payload)
    const config = {
      main: at('main.cjs'),
      output: at('blob'),
      assets: { payload: at('payload') },
      disableExperimentalSEAWarning: true,
      useCodeCache: true,
    }
    writeFileSync(at('sea.json'), JSON.stringify(config))
    runNode('--experimental-sea-config', at('sea.json'))
    const name = process.platform === 'win32' ? 'agent-webui.exe' : 'agent-webui'
    copyFileSync(process.execPath, at(name))
    chmodSync(at(name), 0o755)
    const place = process.platform === 'darwin' ? ['--macho-segment-name', 'NODE_SEA'] : []
    const fuse = ['--sentinel-fuse', SEA_FUSE]
    runNode(postject, at(name), 'NODE_SEA_BLOB', at('blob'), ...fuse, ...place)
    if (process.platform === 'darwin') spawnSync('codesign', ['--sign', '-', at(name)])
    await checkStart(at(name), directory)
    replaceFile(join(dist, name), readFileSync(at(name)), 0o755)
    return join(dist, name)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Starts the executable on a free port in an empty home and asks it how it is. */
const checkStart = async (path, directory) => {
  const { startProgram } = await import('./test/_program.ts')
  const program = await startProgram(path, [], { home: join(directory, 'home') })
  await program.stop()
}

// ── The command ─────────────────────────────────────────────────────────────────────────────────────────────────────

const sizeOf = path => `${(statSync(path).size / 1e6).toFixed(1)} MB`

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      target: { type: 'string' },
      exe: { type: 'boolean', default: false },
      quiet: { type: 'boolean', default: false },
    },
  })
  const { thisTarget } = await import('./lib/store/addon.ts')
  const target = values.target ?? thisTarget()
  try {
    if (values.exe && target !== thisTarget()) {
      throw new Error(
        `--exe packs the Node of this machine: it can only be made for ${thisTarget()}`,
      )
    }
    const packed = await pack(target)
    const made = [await buildFile(packed)]
    if (values.exe) made.push(await buildExecutable(packed))
    if (!values.quiet) {
      for (const path of made) process.stdout.write(`${relative(root, path)}  ${sizeOf(path)}\n`)
    }
  } catch (error) {
    process.stderr.write(`The build failed: ${error.message}\n`)
    process.exit(1)
  }
}
