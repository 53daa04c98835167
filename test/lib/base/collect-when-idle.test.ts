/** A collection of garbage: when the thread is idle, when much was allocated, and not again for what it did not free. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { collectWhenIdle } from '../../../lib/base/collect-when-idle.ts'

const test = suite('collect when idle')
const MB = 1024 * 1024

const createThread = () => {
  const state = { live: 10 * MB, garbage: 5 * MB, busy: 0, collections: 0, isStopped: false }
  const looks: (() => void)[] = []
  const stop = collectWhenIdle({
    collect() {
      state.collections += 1
      state.garbage = 0
    },
    heapUsed: () => state.live + state.garbage,
    busy: () => state.busy,
    every(run) {
      looks.push(run)
      return () => {
        state.isStopped = true
      }
    },
  })
  const look = (): number => {
    for (const run of looks) run()
    return state.collections
  }
  return { state, look, stop }
}

test('a busy thread is left alone; the first rest collects what the start left', () => {
  const { state, look, stop } = createThread()
  state.busy = 0.5
  assert.is(look(), 0)
  state.busy = 0.01
  assert.is(look(), 1)
  assert.is(look(), 1)
  stop()
  assert.ok(state.isStopped)
})

test('again when there may be much garbage, and not for what the last one could not free', () => {
  const { state, look } = createThread()
  look()
  state.garbage += 3 * MB
  assert.is(look(), 1)
  state.garbage += 2 * MB
  assert.is(look(), 2)
  assert.is(state.garbage, 0)
  state.live += 20 * MB
  assert.is(look(), 3)
  assert.is(look(), 3)
  state.garbage += 9 * MB
  state.busy = 0.9
  assert.is(look(), 3)
  state.busy = 0
  assert.is(look(), 4)
})

test('once more after half a minute, for what was in use; a heap that V8 made smaller counts from there', () => {
  const { state, look } = createThread()
  assert.is(look(), 1)
  for (let n = 0; n < 4; n++) assert.is(look(), 1)
  state.busy = 0.9
  for (let n = 0; n < 3; n++) assert.is(look(), 1)
  state.busy = 0
  assert.is(look(), 2)
  for (let n = 0; n < 20; n++) assert.is(look(), 2)
  state.live = 4 * MB
  assert.is(look(), 2)
  state.garbage = 5 * MB
  assert.is(look(), 3)
})

test('a thread with V8’s flags collects garbage that nothing would have collected; scripts have no such function', () => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [join(import.meta.dirname, '_idle-thread.ts')],
    { encoding: 'utf8' },
  )
  assert.is(stderr, '')
  assert.equal(JSON.parse(stdout), { isCollected: true, global: 'undefined' })
})

test.run()
