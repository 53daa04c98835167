/** The mutex keeps order per key, also after failures. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Mutex } from '../../../lib/store/mutex.ts'

const test = suite('mutex')

test('a failure rejects its caller and does not stop the next one', async () => {
  const lock = new Mutex()
  const failed = lock.run('a', async () => {
    throw new Error('no')
  })
  const next = lock.run('a', async () => 'yes')
  const outcome = await failed.catch((error: Error) => error.message)
  assert.is(outcome, 'no')
  assert.is(await next, 'yes')
})

test('runs one at a time in order per key; other keys do not wait', async () => {
  const lock = new Mutex()
  const seen: string[] = []
  let running = 0
  const gate = Promise.withResolvers<void>()
  const work = (name: string) => async () => {
    running += 1
    assert.is(running, 1)
    if (name === '0') await gate.promise
    await Promise.resolve()
    seen.push(name)
    running -= 1
    return name
  }
  const all = Array.from({ length: 50 }, (_, n) => lock.run('a', work(String(n))))
  assert.is(await lock.run('b', async () => 'free'), 'free')
  gate.resolve()
  await Promise.all(all)
  assert.equal(
    seen,
    Array.from({ length: 50 }, (_, n) => String(n)),
  )
})

test.run()
