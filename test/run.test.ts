/** The test runner must not pass what it should fail: every way a test file can lie is tried on it. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'

const head = "import { suite } from 'uvu'\nconst test = suite('s')\n"
const FILES = {
  'good.test.ts': `${head}test('a', () => {})\ntest('b', () => {})\ntest.run()`,
  'jsx.test.tsx': `${head}test('a', () => { const x = <p>1</p>; if (x.type !== 'p') throw x })\ntest.run()`,
  'failing.test.ts': `${head}test('a', () => { throw new Error('told so') })\ntest.run()`,
  'forgotten.test.ts': `${head}test('a', () => {})\ntest.run()\nconst other = suite('t')\nother('b', () => {})`,
  'hook.test.ts': `${head}test.before(() => { throw new Error('x') })\ntest('a', () => {})\ntest.run()`,
  'crash.test.ts': `${head}test('a', () => process.exit(0))\ntest.run()`,
  'stray.test.ts': `${head}test('a', () => void Promise.reject(new Error('nobody caught me')))\ntest.run()`,
  'empty.test.ts': '',
  'broken.test.ts': "import './missing.ts'",
}

/** Runs the runner in a project that holds only these files. */
const runOn = (names: readonly (keyof typeof FILES)[]) => {
  const project = mkdtempSync(join(tmpdir(), 'runner-'))
  try {
    mkdirSync(join(project, 'test'))
    symlinkSync(resolve('node_modules'), join(project, 'node_modules'))
    for (const name of names) writeFileSync(join(project, 'test', name), FILES[name])
    const { stdout, status } = spawnSync(process.execPath, [resolve('test/run.ts'), 'test'], {
      cwd: project,
      encoding: 'utf8',
    })
    return { stdout, status, last: stdout.trimEnd().split('\n').at(-1) }
  } finally {
    rmSync(project, { recursive: true })
  }
}

const test = suite('runner')

test('every kind of error fails, reported under its file name', () => {
  const { stdout, status, last } = runOn(Object.keys(FILES) as (keyof typeof FILES)[])
  assert.is(status, 1, stdout)
  // good 2, jsx 1, forgotten 1, stray 1 passed.
  assert.is(last, '5 passed, 7 failed', stdout)
  for (const name of ['failing', 'forgotten', 'hook', 'crash', 'stray', 'empty', 'broken']) {
    assert.match(stdout, `FAILED in test/${name}.test.ts`)
  }
  assert.match(stdout, 'told so')
  assert.match(stdout, 'nobody caught me')
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
