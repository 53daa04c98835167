/** What the build writes and reads: names of built files, and the fonts in build/fonts, which `npm run fonts` makes. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runInThisContext } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { PAYLOAD_MARK } from '../../../build/run-built.cjs'
import { builtName } from '../../../build/files.mjs'
import { FONTS_DIRECTORY } from '../../../build/fonts.mjs'
import { createLoader } from '../../../build/launch.mjs'
import {
  bundleServer,
  joinParts,
  withLateHandlers,
  withLateImports,
} from '../../../build/server-parts.mjs'
import { PACKAGE_TARGETS } from '../../../build/package.mjs'
import { makeFonts } from '../../../build/subset-fonts.mjs'
import { thisTarget } from '../../../lib/store/unpack-native.ts'

const test = suite('build')

/** Made once: it takes seconds. */
const bundled: { parts?: ReturnType<typeof bundleServer> } = {}
const serverParts = () => {
  bundled.parts ??= bundleServer()
  return bundled.parts
}

test('a build for a target never replaces the local one, also not for this machine', () => {
  const local = builtName(undefined)
  const names = [...PACKAGE_TARGETS, thisTarget()].map(target => builtName(target))
  assert.not.ok(names.includes(local))
  assert.is(new Set(names).size, new Set([...PACKAGE_TARGETS, thisTarget()]).size)
})

test('the stored fonts and their licenses are current: npm run fonts', async () => {
  const made = await makeFonts()
  assert.equal(readdirSync(FONTS_DIRECTORY).sort(), made.map(([name]) => name).sort())
  for (const [name, bytes] of made)
    assert.ok(readFileSync(join(FONTS_DIRECTORY, name)).equals(bytes), name)
})

test('the routes load a module of handlers when one of them is read', () => {
  const source = readFileSync('router.ts', 'utf8')
  const late = withLateHandlers(source)
  const keys = (text: string) =>
    [...text.matchAll(/^ +(?:get )?'([A-Z]+ \/[^']*)'/gm)].map(m => m[1])
  assert.ok(keys(source).length > 200)
  assert.equal(keys(late), keys(source))
  assert.equal(late.match(/^import \* as .*\/handlers\/.*/gm), null)
  assert.equal(late.match(/^ +'[A-Z]+ \/.*/gm), null, 'every route is a getter')
  assert.match(late, "get 'GET /health'() { return health_health },")
  assert.match(late, /^import { .*\bhealth as health_health\b.* } from '.\/handlers\/health.ts'$/m)
})

test('an import loads when something of it is used, and once', () => {
  const code = `var import_part_a = require("./part-a.js");
var import_node_fs = __toESM(require("node:fs"));
var own = require("./part-b.js");
const read = () => [...import_part_a.list, import_node_fs.default, object.import_part_a];
return { import_part_a: 1, read };
`
  const loaded: string[] = []
  const load = (name: string) => {
    loaded.push(name)
    return { list: [1], default: 2 }
  }
  const late = withLateImports(code.replace('{ import_part_a: 1, read }', 'read'))
  const make = new Function('require', '__toESM', 'object', late) as (
    require: typeof load,
    toModule: <T>(module: T) => T,
    object: object,
  ) => () => unknown[]
  const read = make(load, module => module, { import_part_a: 3 })
  assert.equal(loaded, ['./part-b.js'])
  assert.equal(read(), [1, 2, 3])
  read()
  assert.equal(loaded, ['./part-b.js', './part-a.js', 'node:fs'])
})

test('every module of handlers is a part of its own, and parts are joined to one script', async () => {
  const parts = await serverParts()
  const handlers = parts.filter(({ source }) => source?.startsWith('handlers/'))
  assert.ok(handlers.length > 50)
  const names = Object.keys(runInThisContext(joinParts(handlers)) as object)
  assert.equal(
    names,
    handlers.map(({ name }) => name),
  )
})

test('a built file is run without its payload, as if Node had read all of it', () => {
  const directory = mkdtempSync(join(tmpdir(), 'built-file-'))
  const run = (name: string, text: string) => {
    const file = join(directory, name)
    writeFileSync(file, text)
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [resolve('build/run-built.cjs'), file, 'one', 'two words'],
      { encoding: 'utf8' },
    )
    assert.is(stderr, '')
    return {
      stdout,
      expected: `${pathToFileURL(file).href} ${directory} ${file} one,two words undefined\n`,
    }
  }
  const code = `#!/usr/bin/env node
var mine = function () { return this }
console.log(import.meta.
url, import
.meta.dirname, process.argv[1], process.argv.slice(2).join(), mine() ?? globalThis.mine)
`
  // Would be a syntax error if it were read.
  const built = run('built "file".mjs', `${code}${PAYLOAD_MARK}${'A'.repeat(1e6)}*/ }\n`)
  assert.is(built.stdout, built.expected)
  const other = run('other.mjs', code)
  assert.is(other.stdout, other.expected)
  rmSync(directory, { recursive: true })
})

/** The parts, and a loader that has loaded none. */
const createServerLoader = async () => {
  const parts = await serverParts()
  const code = new Map(parts.map(part => [part.name, part]))
  const file = join(import.meta.dirname, '../../..', 'router.ts')
  const load = createLoader({
    read: name => {
      const part = code.get(name)
      return part && { script: name, code: joinParts([part]) }
    },
    selfUrl: pathToFileURL(file).href,
    selfDirectory: dirname(file),
    require: createRequire(file),
  })
  return { parts, load }
}

test('a package that is imported at run time has the exports that Node gives it', async () => {
  const { parts, load } = await createServerLoader()
  const packages = parts.filter(({ source }) => source?.startsWith('node_modules/'))
  assert.ok(packages.length > 10)
  for (const { name, source = '' } of packages) {
    const theirs: object = await import(join(import.meta.dirname, '../../..', source))
    const missing = Object.keys(theirs).filter(key => !(key in (load(name) ?? {})))
    // Names for `require`, which only Node makes.
    assert.equal(
      missing.filter(key => key !== 'module.exports'),
      [],
      source,
    )
  }
})

test('each part can be loaded, although they import each other', async () => {
  const { parts, load } = await createServerLoader()
  assert.ok(parts.length > 800)
  for (const { name, source } of parts) {
    // It starts the service.
    if (source === 'router.ts') continue
    const exported = load(name)
    assert.ok(exported && Object.values(exported).every(value => value !== undefined), name)
  }
})

test('of undici, a request loads neither mocks nor web sockets, and fetch when it is called', async () => {
  const parts = await serverParts()
  // Lines are broken inside of strings.
  const codes = parts.map(({ code }) => code.replaceAll('\\\n', ''))
  const holding = (module: string) =>
    codes.filter(code => code.includes(`"node_modules/undici/lib/${module}.js"`))
  const [request, fetch] = ['api/api-request', 'web/fetch/index'].map(holding)
  assert.equal([request!.length, fetch!.length], [1, 1])
  assert.is.not(request![0], fetch![0])
  for (const unused of ['mock/mock-agent', 'web/websocket/websocket', 'web/cookies/index'])
    assert.is(holding(unused).length, 0, unused)

  const { load } = await createServerLoader()
  const { name } = parts.find(({ source }) => source === 'node_modules/undici/index.js')!
  const undici = load(name) as typeof import('undici')
  assert.is(await (await undici.fetch('data:,its%20own')).text(), 'its own')
})

test.run()
