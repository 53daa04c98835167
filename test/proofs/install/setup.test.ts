/** setup.mjs in small projects with an npm that is a script: what is installed, when it is built, what it prints. */
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ALLOCATOR, NODE_FLAGS } from '../../../build/node-flags.mjs'
import { cachePath, packPackage } from '../../_package.ts'

const packages = (platform: Record<string, object> = {}): Record<string, object> => ({
  '': {
    dependencies: { page: '1' },
    devDependencies: { checker: '1' },
    optionalDependencies: { elsewhere: '1', 'node-here': '1' },
  },
  'node_modules/page': { version: '1.0.0', integrity: 'sha512-x' },
  'node_modules/elsewhere': { version: '1.0.0', optional: true, os: 'sunos' },
  'node_modules/checker': { version: '1.0.0', dev: true },
  ...platform,
})

/** Installs as npm does, as far as setup.mjs can see: a Node, the list of what is installed, and files of a package. */
const NPM = `#!${process.execPath}
const { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } = require('node:fs')
const args = process.argv.slice(2)
if (args[0] === 'config') {
  console.log(process.env.NPM_REGISTRY ?? 'undefined')
  process.exit(0)
}
appendFileSync('npm.log', args.join(' ') + '\\n')
if (process.env.NPM_FAILS) {
  console.error('npm error 404 page@1.0.0\\nnpm error the registry is asleep')
  process.exit(1)
}
if (existsSync('npm-shrinkwrap.json')) {
  const [, page] = Object.values(JSON.parse(readFileSync('npm-shrinkwrap.json', 'utf8')).packages)
  appendFileSync('npm.log', 'from ' + page.resolved + '\\n')
  if (process.env.NPM_LACKS_ADDRESS) {
    console.error('npm error code E404')
    process.exit(1)
  }
}
rmSync('node_modules', { recursive: true, force: true })
mkdirSync('node_modules/.bin', { recursive: true })
mkdirSync('node_modules/page/test', { recursive: true })
for (const file of ['index.js', 'index.js.map', 'index.d.ts', 'test/a.js']) writeFileSync('node_modules/page/' + file, '')
if (!process.env.NPM_WITHOUT_NODE) symlinkSync(process.execPath, 'node_modules/.bin/node')
const list = existsSync('npm-shrinkwrap.json') ? 'npm-shrinkwrap.json' : 'package-lock.json'
const { packages } = JSON.parse(readFileSync(list, 'utf8'))
const kept = Object.entries(packages).filter(([, entry]) => !entry.os && !(entry.dev && args.includes('--omit=dev')))
writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages: Object.fromEntries(kept) }))
`

const BUILD = `import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { hashInputs, inputsLine } from './build/inputs.mjs'
appendFileSync('build.log', process.argv.slice(2).join(' ') + '\\n')
mkdirSync('dist', { recursive: true })
writeFileSync('dist/program.mjs', '#!\\n' + inputsLine(await hashInputs('.')) + '\\nconsole.log("program", ...process.argv.slice(2))\\nif (process.env.PRINT_PROCESS) console.log(process.pid, process.argv[1], process.cwd(), ...process.execArgv, process.env.MALLOC_ARENA_MAX)\\n')
`

const SETUP = [
  'setup.mjs',
  'build/run-built.cjs',
  ...['inputs', 'install', 'node-flags', 'unpack', 'unneeded'].map(name => `build/${name}.mjs`),
]

const SOURCES = ['handlers/a.ts', 'lib/b/c.ts', 'public/d.css', 'router.ts', 'tsconfig.json']

const createProject = (lock = packages()) => {
  const root = mkdtempSync(join(tmpdir(), 'setup-'))
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  for (const file of SETUP) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    copyFileSync(resolve(file), join(root, file))
  }
  write('build.mjs', BUILD)
  write('package.json', '{"type":"module"}')
  write('package-lock.json', JSON.stringify({ packages: lock }))
  for (const path of SOURCES) write(path, path)
  write('bin/package.json', '{}')
  write('bin/npm', NPM)
  spawnSync('chmod', ['+x', join(root, 'bin/npm')])
  const run = (
    words: string[],
    {
      env = {},
      node = process.execPath,
      cwd = root,
    }: { env?: Record<string, string>; node?: string; cwd?: string } = {},
  ) => {
    const PATH = [join(root, 'bin'), process.env.PATH].join(delimiter)
    const { status, stdout, stderr, pid } = spawnSync(node, [join(root, 'setup.mjs'), ...words], {
      cwd,
      encoding: 'utf8',
      // As by hand: npm, which runs this test, says this to its scripts.
      env: {
        ...process.env,
        npm_config_user_agent: '',
        npm_config_cache: join(root, 'npm-cache'),
        npm_config_offline: 'true',
        PATH,
        ...env,
      },
    })
    return { status, stdout, stderr, pid }
  }
  const logOf = (name: string) =>
    existsSync(join(root, name)) ? readFileSync(join(root, name), 'utf8').trim().split('\n') : []
  return {
    root,
    run,
    path: (path: string) => join(root, path),
    start: (...words: string[]) => run(['--build', 'dist/program.mjs', ...words]),
    installs: () => logOf('npm.log'),
    builds: () => logOf('build.log'),
    remove: () => rmSync(root, { recursive: true }),
  }
}

const test = suite('setup')

const CI = 'ci --no-audit --no-fund --loglevel=error'

test('the first start installs without test tools, builds, and says what it does', () => {
  const { remove, start, installs, builds, path } = createProject()
  const { status, stdout, stderr } = start('9000')
  assert.is(status, 0, stderr)
  assert.is(stdout, 'program 9000\n')
  // Neither the test tool nor the package of another platform is counted.
  assert.match(stderr, /^Installing 1 packages… \d+\.\d s\nBuilding… \d+\.\d s\n$/)
  assert.equal(installs(), [`${CI} --omit=dev`])
  assert.equal(builds(), ['--quiet --fast'])
  const left = (file: string) => existsSync(path(`node_modules/page/${file}`))
  assert.equal(['index.js', 'index.js.map', 'index.d.ts', 'test'].map(left), [
    true,
    false,
    false,
    false,
  ])
  remove()
})

test('an unchanged tree is not built again, also when it was copied; every changed input is', () => {
  const { remove, start, installs, builds, path } = createProject()
  start()
  for (const source of SOURCES) utimesSync(path(source), new Date(), new Date(0))
  const { status, stdout, stderr } = start()
  assert.equal([status, stdout, stderr], [0, 'program\n', ''])
  assert.is(builds().length, 1)
  for (const source of [...SOURCES, 'build.mjs', 'build/inputs.mjs', 'package.json']) {
    const before = builds().length
    appendFileSync(path(source), '\n')
    start()
    assert.is(builds().length, before + 1, source)
  }
  const before = builds().length
  writeFileSync(path('lib/new.ts'), '')
  start()
  rmSync(path('lib/new.ts'))
  start()
  // Shown by the page.
  writeFileSync(path('VERSION'), 'v2')
  start()
  assert.is(builds().length, before + 3)
  assert.is(installs().length, 1)
  remove()
})

test('without npm when its cache has every package, and after a kill that left half of them', async () => {
  const { archive, integrity } = await packPackage({ 'index.js': 'page', 'index.d.ts': '' })
  const { remove, start, installs, path } = createProject(
    packages({ 'node_modules/page': { version: '1.0.0', integrity } }),
  )
  const cached = path(`npm-cache/_cacache/content-v2/sha512/${cachePath(integrity)}`)
  mkdirSync(dirname(cached), { recursive: true })
  writeFileSync(cached, archive)
  mkdirSync(path('node_modules/half'), { recursive: true })
  const { status, stdout, stderr } = start()
  assert.equal([status, stdout], [0, 'program\n'], stderr)
  assert.match(stderr, /^Installing 1 packages… \d+\.\d s\nBuilding… \d+\.\d s\n$/)
  assert.equal(readdirSync(path('node_modules')).sort(), ['.package-lock.json', 'page'])
  assert.equal(readdirSync(path('node_modules/page')), ['index.js'])
  assert.is(start().stderr, '')
  // Another file than the one of the lock file is npm's business.
  rmSync(path('node_modules'), { recursive: true })
  writeFileSync(cached, 'other')
  assert.is(start().status, 0)
  assert.equal(installs(), [`${CI} --omit=dev`])
  remove()
})

test('a failed install shows everything npm printed, and the next start tries again', () => {
  const { remove, run, installs, builds } = createProject()
  const words = ['--build', 'dist/program.mjs']
  const failed = run(words, { env: { NPM_FAILS: '1' } })
  assert.is(failed.status, 1)
  assert.match(failed.stderr, 'npm error 404 page@1.0.0\nnpm error the registry is asleep\n')
  assert.match(failed.stderr, /\nThe packages could not be installed\. [^\n]+\n$/)
  assert.equal(builds(), [])
  assert.is(run(words).status, 0)
  assert.is(installs().length, 2)
  remove()
})

test('packages are fetched from the registry in use, without asking it for each; npm finds those at other addresses', () => {
  const env = { NPM_REGISTRY: 'https://registry.example/npm' }
  const from = 'from https://registry.example/npm/page/-/page-1.0.0.tgz'
  const words = ['--build', 'dist/program.mjs']
  const plain = createProject()
  assert.is(plain.run(words, { env }).status, 0)
  assert.equal(plain.installs(), [`${CI} --omit=dev`, from])
  assert.not.ok(existsSync(plain.path('npm-shrinkwrap.json')))
  plain.remove()
  const other = createProject()
  assert.is(other.run(words, { env: { ...env, NPM_LACKS_ADDRESS: '1' } }).status, 0)
  assert.equal(other.installs(), [`${CI} --omit=dev`, from, `${CI} --omit=dev`])
  assert.not.ok(existsSync(other.path('npm-shrinkwrap.json')))
  other.remove()
})

test('below npm, the registry is that of its settings, without another npm', () => {
  const env = { npm_config_user_agent: 'npm/11.0.0 node/v24.0.0', NPM_REGISTRY: 'https://wrong/' }
  const { run, installs, remove } = createProject()
  const given = { npm_config_registry: 'https://own.example/npm/' }
  assert.is(run(['build.mjs'], { env: { ...env, ...given } }).status, 0)
  assert.match(installs()[1] ?? '', 'from https://own.example/npm/page/-/')
  remove()
})

test('dependencies that nothing reads are left out, and those that only a test tool shares with them are test tools', () => {
  const { remove, run, installs, path } = createProject({
    '': { dependencies: { mermaid: '1', page: '1' }, devDependencies: { checker: '1' } },
    'node_modules/page': { version: '1.0.0', dependencies: { inner: '1' } },
    'node_modules/page/node_modules/inner': { version: '2.0.0', peerDependencies: { peer: '1' } },
    'node_modules/peer': { version: '1.0.0', optionalDependencies: { elsewhere: '1' } },
    'node_modules/elsewhere': { version: '1.0.0', optional: true, os: 'sunos' },
    'node_modules/inner': { version: '1.0.0' },
    'node_modules/mermaid': { version: '1.0.0', dependencies: { inner: '1', shared: '1' } },
    'node_modules/shared': { version: '1.0.0', dependencies: { deep: '1' } },
    'node_modules/deep': { version: '1.0.0' },
    'node_modules/checker': { version: '1.0.0', dev: true, dependencies: { shared: '1' } },
  })
  const env = { NPM_REGISTRY: 'https://registry.example' }
  const names = () =>
    Object.keys(
      JSON.parse(readFileSync(path('node_modules/.package-lock.json'), 'utf8')).packages,
    ).map(each => each.replace('node_modules/', ''))
  const used = ['page', 'page/node_modules/inner', 'peer', 'mermaid']
  assert.is(run(['build.mjs'], { env }).status, 0)
  assert.equal(names(), ['', ...used])
  assert.is(run(['build.mjs'], { env }).status, 0)
  assert.is(installs().length, 2)
  assert.is(run(['--test-tools', 'build.mjs'], { env }).status, 0)
  assert.equal(names(), ['', ...used, 'shared', 'deep', 'checker'])
  remove()
})

test('the program is the process that was started, after an install another one; its options and variables are the same', () => {
  const { remove, root, run } = createProject()
  const words = ['--build', 'dist/program.mjs', '9000']
  const options = { env: { PRINT_PROCESS: '1' }, cwd: dirname(root) }
  const seen = [run(words, options), run(words, options)].map(({ stdout, pid }) => {
    const [program, process = ''] = stdout.split('\n')
    return [program, process.replace(/^\d+/, id => (Number(id) === pid ? 'same' : 'other'))]
  })
  const given = `${NODE_FLAGS.join(' ')} ${ALLOCATOR.MALLOC_ARENA_MAX}`
  const at = `${join(root, 'dist/program.mjs')} ${root} ${given}`
  assert.equal(seen, [
    ['program 9000', `other ${at}`],
    ['program 9000', `same ${at}`],
  ])
  remove()
})

test('a failed build ends the start with its exit code', () => {
  const { remove, start, path } = createProject()
  writeFileSync(path('build.mjs'), "process.stderr.write('The build failed\\n'); process.exit(3)")
  const { status, stdout, stderr } = start()
  assert.equal([status, stdout], [3, ''])
  assert.match(stderr, 'The build failed\n')
  remove()
})

test('a test installs the test tools, and an update keeps them', () => {
  const { remove, run, start, installs, path } = createProject()
  start()
  assert.is(run(['--test-tools', 'dist/program.mjs']).status, 0)
  assert.is(run(['--test-tools', 'dist/program.mjs']).stderr, '')
  assert.equal(installs(), [`${CI} --omit=dev`, CI])
  start()
  assert.is(installs().length, 2)
  const newer = packages({ 'node_modules/page': { version: '2.0.0' } })
  writeFileSync(path('package-lock.json'), JSON.stringify({ packages: newer }))
  start()
  assert.equal(installs().slice(2), [CI])
  // Types of packages are needed by a check.
  assert.ok(existsSync(path('node_modules/page/index.d.ts')))
  remove()
})

test('without a package of Node for this platform, the Node that runs npm is used if it is new enough', () => {
  const { remove, run, installs } = createProject()
  const env = { NPM_WITHOUT_NODE: '1' }
  const words = ['--build', 'dist/program.mjs']
  assert.is(run(words, { env }).stdout, 'program\n')
  run(words, { env })
  assert.is(installs().length, 1)
  remove()
})

/** Another Node of this machine, older than ours; most have none. */
const findOldNode = () =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map(directory => join(directory, 'node'))
    .find(path => {
      const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' })
      return Number(/^v(\d+)/.exec(stdout ?? '')?.[1] ?? 24) < 24
    })

test('an older Node without a package of Node for this platform gets one sentence', () => {
  const node = findOldNode()
  if (!node) return
  const { remove, run } = createProject()
  const { status, stderr } = run(['--build', 'dist/program.mjs'], {
    env: { NPM_WITHOUT_NODE: '1' },
    node,
  })
  assert.is(status, 1)
  assert.match(stderr, /\nagent-webui needs Node\.js 24 or newer; this is v\d+[^\n]+\n$/)
  remove()
})

test('installs again when the pinned Node of this platform is missing', () => {
  const platform = { os: process.platform, cpu: process.arch, version: '24.0.0', optional: true }
  const { remove, run, installs, path } = createProject(
    packages({ 'node_modules/node-here': platform }),
  )
  run(['build.mjs'], { env: { NPM_WITHOUT_NODE: '1' } })
  run(['build.mjs'])
  assert.is(installs().length, 2)
  rmSync(path('node_modules/.bin/node'))
  symlinkSync(process.execPath, path('node_modules/.bin/node'))
  run(['build.mjs'])
  assert.is(installs().length, 2)
  remove()
})

test.run()
