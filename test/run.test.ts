/** The test runner must not pass what it should fail: every way a test file can lie is tried on it. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ended, until } from './_wait.ts'
import { tempDir } from './_temp-dir.ts'

const head = "import { suite } from 'uvu'\nconst test = suite('s')\n"
const FILES = {
  'good.test.ts': `${head}test('a', () => {})\ntest('b', () => {})\ntest.run()`,
  'jsx.test.tsx': `${head}test('a', () => { const x = <p>1</p>; if (x.type !== 'p') throw x })\ntest.run()`,
  'failing.test.ts': `${head}test('a', () => { console.log('seen before'); throw new Error('not so') })\ntest.run()`,
  'text.test.ts': `import * as assert from 'uvu/assert'\n${head}test('a', () => assert.match('what came instead', 'what was wanted'))\ntest.run()`,
  'forgotten.test.ts': `${head}test('a', () => {})\ntest.run()\nconst other = suite('t')\nother('b', () => {})`,
  'hook.test.ts': `${head}test.before(() => { throw new Error('x') })\ntest('a', () => {})\ntest.run()`,
  'crash.test.ts': `${head}test('a', () => process.exit(0))\ntest.run()`,
  'stray.test.ts': `${head}test('a', () => void Promise.reject(new Error('not caught')))\ntest.run()`,
  'empty.test.ts': '',
  'broken.test.ts': "import './missing.ts'",
  'hangs.test.ts': `import { createServer } from 'node:net'\n${head}test('a', () => {})\ntest('b', () => new Promise(() => createServer().listen(0, '127.0.0.1')))\ntest.run()`,
  'blocks.test.ts': `${head}test('a', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))\ntest.run()`,
  'leaves.test.ts': `import { spawn } from 'node:child_process'\nimport { writeFileSync } from 'node:fs'\n${head}test('a', () => new Promise(() => { const { pid } = spawn('sleep', ['600'], { detached: true }); writeFileSync('../pid', String(pid) + ' ' + process.env.TEST_HOME) }))\ntest.run()`,
}
type Name = keyof typeof FILES

/** A project that holds only these files. */
const createProject = (names: readonly Name[]) => {
  const project = join(tempDir('runner'), 'project')
  mkdirSync(join(project, 'test'), { recursive: true })
  symlinkSync(resolve('node_modules'), join(project, 'node_modules'))
  for (const name of names) writeFileSync(join(project, 'test', name), FILES[name])
  return project
}
const words = [resolve('test/run.ts'), 'test/']

const runOn = (names: readonly Name[], limitMs = 60_000) => {
  const cwd = createProject(names)
  const env = { ...process.env, TEST_LIMIT_MS: String(limitMs) }
  const { stdout, status } = spawnSync(process.execPath, words, { cwd, env, encoding: 'utf8' })
  rmSync(join(cwd, '..'), { recursive: true })
  return { stdout, status, last: stdout.trimEnd().split('\n').at(-1) }
}

const test = suite('runner')

test('every kind of error fails, reported under its file name', () => {
  const { stdout, status, last } = runOn([
    ...(['good.test.ts', 'jsx.test.tsx', 'failing.test.ts', 'forgotten.test.ts'] as const),
    ...([
      'hook.test.ts',
      'crash.test.ts',
      'stray.test.ts',
      'empty.test.ts',
      'broken.test.ts',
    ] as const),
  ])
  assert.is(status, 1, stdout)
  // good 2, jsx 1, forgotten 1, stray 1 passed.
  assert.is(last, '5 passed, 7 failed', stdout)
  for (const name of ['failing', 'forgotten', 'hook', 'crash', 'stray', 'empty', 'broken']) {
    assert.match(stdout, `FAILED in test/${name}.test.ts`)
  }
  for (const text of ['not so', 'seen before', 'not caught']) assert.match(stdout, text)
})

test('a text without what it should contain is printed', () => {
  const { stdout, last } = runOn(['text.test.ts'])
  assert.is(last, '0 passed, 1 failed')
  assert.match(stdout, 'Actual: what came instead')
})

test('a file that hangs is ended after its limit, named with what is open; the next one runs', () => {
  const { stdout, status, last } = runOn(['hangs.test.ts', 'blocks.test.ts', 'good.test.ts'], 3_000)
  assert.equal([status, last], [1, '2 passed, 2 failed'], stdout)
  assert.match(stdout, /FAILED in test\/hangs\.test\.ts[\s\S]*"type":"tcp".*127\.0\.0\.1/)
  assert.match(stdout, /FAILED in test\/blocks\.test\.ts\n.*SIGKILL/)
})

test('an interrupted run leaves no process and no file, whatever signal ends it', async () => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
    const cwd = createProject(['leaves.test.ts'])
    const path = join(cwd, '..', 'pid')
    const run = spawn(process.execPath, words, { cwd, stdio: 'ignore' })
    await until(() => existsSync(path) && readFileSync(path, 'utf8').includes(' '))
    const [pid, home = ''] = readFileSync(path, 'utf8').split(' ')
    assert.ok(existsSync(home))
    run.kill(signal)
    await ended(Number(pid))
    await until(() => !existsSync(home), `${home} is deleted after ${signal}`)
    rmSync(join(cwd, '..'), { recursive: true })
  }
})

test('passing files pass', () => {
  const { status, last } = runOn(['good.test.ts', 'jsx.test.tsx'])
  assert.equal([status, last], [0, '3 passed, 0 failed'])
})

test('fails when no file matches', () => {
  const { status, last } = runOn([])
  assert.equal([status, last], [1, '0 passed, 1 failed'])
})

test.run()
