/** The lock shared with the host agent: with flock(1) and without it. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { UserError } from '../../../lib/errors.ts'
import { withFileLock } from '../../../lib/store/flock.ts'
import { tempDir } from '../../_temp-dir.ts'

const kinds: [name: string, program: string][] = [
  ['flock(1)', 'flock'],
  ['without flock(1)', '/nowhere/flock'],
]

const test = suite<{ dir: string; lock: string }>('file lock')
test.before.each(context => {
  context.dir = tempDir('flock')
  context.lock = join(context.dir, 'memories', 'MEMORY.md.lock')
})

const refusalOf = async (work: Promise<unknown>): Promise<UserError> => {
  try {
    await work
  } catch (error) {
    assert.instance(error, UserError)
    return error as UserError
  }
  throw new Error('It was not refused')
}

for (const [name, flock] of kinds) {
  test(`${name}: rejects a second holder, and admits it after release`, async ({ lock }) => {
    const answer = await withFileLock(lock, { timeoutMs: 1_000, flock }, async () => {
      const refused = await refusalOf(withFileLock(lock, { timeoutMs: 0, flock }, () => 'in'))
      assert.is(refused.kind, 'unavailable')
      return 'held'
    })
    assert.is(answer, 'held')
    assert.is(await withFileLock(lock, { timeoutMs: 0, flock }, () => 'in'), 'in')
    assert.is(statSync(lock).mode & 0o777, 0o600)
    assert.not.ok(existsSync(`${lock}.own`))
  })

  test(`${name}: serializes ten callers; a failing one releases the lock`, async ({ lock }) => {
    const seen: string[] = []
    await Promise.all(
      Array.from({ length: 10 }, async (_, at) => {
        const work = withFileLock(lock, { timeoutMs: 5_000, flock }, async () => {
          seen.push('in')
          await new Promise(resolve => setImmediate(resolve))
          seen.push('out')
          if (at === 3) throw new Error('no')
        })
        if (at === 3) await work.catch(error => assert.is(error.message, 'no'))
        else await work
      }),
    )
    assert.is(seen.join(' '), 'in out '.repeat(10).trim())
  })
}

test('respects a flock(1) lock of another program', async ({ dir }) => {
  const lock = join(dir, 'jobs.lock')
  const other = spawn('flock', [lock, 'cat'], { stdio: ['pipe', 'pipe', 'ignore'] })
  other.stdin.write('x')
  await new Promise(resolve => other.stdout.once('data', resolve))
  const refused = await refusalOf(withFileLock(lock, { timeoutMs: 0 }, () => 1))
  assert.is(refused.kind, 'unavailable')
  const waiting = withFileLock(lock, { timeoutMs: 10_000 }, () => 'mine')
  other.stdin.end()
  assert.is(await waiting, 'mine')
})

test('who waits in vain is told that the file is in use', async ({ lock }) => {
  await withFileLock(lock, { timeoutMs: 1_000 }, async () => {
    const refused = await refusalOf(withFileLock(lock, { timeoutMs: 1 }, () => 'in'))
    assert.is(refused.code, 'file_in_use')
  })
})

test('a killed process leaves no lock', async ({ dir }) => {
  for (const [, flock] of kinds) {
    const lock = join(dir, `${flock.length}.lock`)
    const script = `import { withFileLock } from ${JSON.stringify(new URL('../../../lib/store/flock.ts', import.meta.url).href)}
await withFileLock(${JSON.stringify(lock)}, { timeoutMs: 1000, flock: ${JSON.stringify(flock)} }, () => {
  console.log('held')
  return new Promise(resolve => setTimeout(resolve, 60_000))
})`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const gone = new Promise(resolve => child.once('exit', resolve))
    await new Promise(resolve => child.stdout.once('data', resolve))
    await refusalOf(withFileLock(lock, { timeoutMs: 0, flock }, () => 1))
    child.kill('SIGKILL')
    await gone
    assert.is(await withFileLock(lock, { timeoutMs: 5_000, flock }, () => 'free'), 'free')
  }
})

test('without flock(1): a lock file of an earlier process with our pid is not ours', async ({
  dir,
}) => {
  const lock = join(dir, 'a.lock')
  writeFileSync(`${lock}.own`, `${process.pid} 0000000000000000`)
  assert.is(
    await withFileLock(lock, { timeoutMs: 0, flock: '/nowhere' }, () =>
      readFileSync(`${lock}.own`, 'utf8').startsWith(`${process.pid} `),
    ),
    true,
  )
})

test.run()
