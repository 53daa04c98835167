/** Signals that would reach the service. */
import * as assert from 'uvu/assert'
import { spawn } from 'node:child_process'
import { suite } from 'uvu'
import { isServiceTarget } from '../../../../lib/commands/own-processes/own-processes.ts'

const test = suite('processes of the service')

test('the service, what started it, and everything at once', () => {
  for (const pid of [process.pid, process.ppid, -1]) assert.ok(isServiceTarget(pid), String(pid))
})

test('a child of its own group is none of them', async () => {
  const child = spawn('sleep', ['60'], { detached: true })
  try {
    const pid = child.pid ?? 0
    assert.not(isServiceTarget(pid))
    assert.not(isServiceTarget(-pid))
    assert.not(isServiceTarget(0))
  } finally {
    child.kill()
  }
})

test('the process group of the service', async () => {
  if (process.platform !== 'linux') return
  const child = spawn('ps', ['-o', 'pgid=', '-p', String(process.pid)])
  const texts: string[] = []
  child.stdout.on('data', text => texts.push(String(text)))
  await new Promise(resolve => child.once('close', resolve))
  assert.ok(isServiceTarget(-Number(texts.join(''))))
})

test.run()
