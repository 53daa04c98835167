/** setup.mjs in small projects with an npm that is a script: what is installed, when it is built, what it prints. */
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
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

/** Installs as npm does, as far as setup.mjs can see: a Node, the list of what is installed, and the headers of Node. */
const NPM = `#!${process.execPath}
const { appendFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } = require('node:fs')
const args = process.argv.slice(2)
appendFileSync('npm.log', args.join(' ') + '\\n')
if (process.env.NPM_FAILS) {
  console.error('npm error 404 page@1.0.0\\nnpm error the registry is asleep')
  process.exit(1)
}
rmSync('node_modules', { recursive: true, force: true })
mkdirSync('node_modules/.bin', { recursive: true })
for (const name of ['page', 'node-' + process.platform + '-' + process.arch + '/include'])
  mkdirSync('node_modules/' + name, { recursive: true })
if (!process.env.NPM_WITHOUT_NODE) symlinkSync(process.execPath, 'node_modules/.bin/node')
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
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
  ...['inputs', 'node-flags'].map(name => `build/${name}.mjs`),
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
      env: { ...process.env, PATH, ...env },
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
const WITHOUT_TEST_TOOLS = `${CI} --omit=dev --ignore-scripts`

test('the first start installs without test tools, builds, and says what it does', () => {
  const { remove, start, installs, builds, path } = createProject()
  const { status, stdout, stderr } = start('9000')
  assert.is(status, 0, stderr)
  assert.is(stdout, 'program 9000\n')
  assert.match(stderr, /^Installing packages… \d+\.\d s\nBuilding… \d+\.\d s\n$/)
  assert.equal(installs(), [WITHOUT_TEST_TOOLS])
  assert.equal(builds(), ['--quiet --fast'])
  const node = `node_modules/node-${process.platform}-${process.arch}`
  assert.equal(
    [node, `${node}/include`].map(name => existsSync(path(name))),
    [true, false],
  )
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

test('the program is the process that was started, also after an install; its options and variables are ours', () => {
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
    ['program 9000', `same ${at}`],
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

test('a package that was packed again under the same version is installed again', () => {
  const { remove, start, installs, path } = createProject()
  start()
  const packed = { version: '1.0.0', resolved: 'file:page.tgz', integrity: 'sha512-y' }
  const lock = { packages: packages({ 'node_modules/page': packed }) }
  writeFileSync(path('package-lock.json'), JSON.stringify(lock))
  start()
  start()
  assert.is(installs().length, 2)
  remove()
})

test('a test installs the test tools, and an update keeps them', () => {
  const { remove, run, start, installs, path } = createProject()
  start()
  assert.is(run(['--test-tools', 'dist/program.mjs']).status, 0)
  assert.is(run(['--test-tools', 'dist/program.mjs']).stderr, '')
  assert.equal(installs(), [WITHOUT_TEST_TOOLS, CI])
  start()
  assert.is(installs().length, 2)
  const newer = packages({ 'node_modules/page': { version: '2.0.0' } })
  writeFileSync(path('package-lock.json'), JSON.stringify({ packages: newer }))
  start()
  assert.equal(installs().slice(2), [CI])
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
