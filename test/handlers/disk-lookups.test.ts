/** How often a request looks at the disk: a count, which does not depend on the machine. */
import fs from 'node:fs'
import { ServerResponse } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../_app.ts'
import { createProvider } from '../_provider.ts'
import { writeOld } from '../_wait.ts'

const test = suite('disk lookups')

const COUNTED = [
  'statSync',
  'lstatSync',
  'fstatSync',
  'openSync',
  'readFileSync',
  'readdirSync',
] as const

/** Counts calls of these functions until `stop`; `isCounted`: by what they are called with. */
const countCalls = (isCounted: (path: unknown) => boolean = () => true) => {
  const calls: Record<string, number> = {}
  const originals = COUNTED.map(name => [name, fs[name]] as const)
  for (const [name, original] of originals)
    Object.assign(fs, {
      [name]: (...args: unknown[]) => {
        if (isCounted(args[0])) calls[name] = (calls[name] ?? 0) + 1
        return Reflect.apply(original, fs, args)
      },
    })
  syncBuiltinESMExports()
  return {
    calls,
    stop() {
      for (const [name, original] of originals) Object.assign(fs, { [name]: original })
      syncBuiltinESMExports()
    },
  }
}

test('what has not changed is neither looked at nor read', async () => {
  await using app = await startApp()
  const messages = [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'two' },
  ]
  const { body } = await app.post('/api/session/import', { title: 'Talk', messages })
  const id = body.session.session_id
  const long = Array.from({ length: 20 }, () => ({
    role: 'user',
    content: 'word '.repeat(10_000),
  }))
  const imported = await app.post('/api/session/import', { title: 'Long', messages: long })
  const longId = imported.body.session.session_id
  const lookups = async (path: string): Promise<{ stats: number; reads: number }> => {
    const counted = countCalls()
    assert.is((await app.get(path)).status, 200)
    counted.stop()
    const { statSync = 0, lstatSync = 0, fstatSync = 0, ...reads } = counted.calls
    const sum = Object.values(reads).reduce((all, count) => all + count, 0)
    return { stats: statSync + lstatSync + fstatSync, reads: sum }
  }
  const most = async (path: string, stats: number) => {
    let found = { stats: 0, reads: 0 }
    // A file that changed within the resolution of its times is read again for a moment, and what is watched is looked at once a second.
    for (let round = 0; round < 100; round++) {
      const each = [await lookups(path), await lookups(path), await lookups(path)]
      found = each.find(one => one.stats > stats || one.reads > 0) ?? found
      if (each.every(one => one.stats <= stats && one.reads === 0)) return
    }
    assert.unreachable(`${path}: ${JSON.stringify(found)}`)
  }
  await most('/health', 0)
  await most(`/api/session?session_id=${id}`, 0)
  await most(`/api/session?session_id=${id}&limit=50`, 0)
  // A megabyte is sent again from the bytes that were sent before.
  await most(`/api/session?session_id=${longId}`, 0)
  await most('/api/sessions?limit=50', 1)
})

test('a turn looks at the configuration a few times in each step', async () => {
  await using provider = await createProvider()
  await using app = await startApp()
  const [config, dotenv] = [join(app.home, 'config.yaml'), join(app.home, '.env')]
  writeOld(
    config,
    `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\n`,
  )
  writeOld(dotenv, 'NAME=value\n')
  const { body } = await app.post('/api/session/new', {})
  const { session_id } = body.session
  await app.post('/api/session/rename', { session_id, title: 'Talk' })
  const lookups = async (steps: number): Promise<number> => {
    for (let step = 0; step < steps; step++)
      provider.push({ toolCalls: [{ name: 'todo', arguments: {} }] })
    provider.push({ text: 'Done.' })
    const counted = countCalls(path => path === config || path === dotenv)
    const { status, text } = await app.post('/api/chat', { session_id, message: 'Do it' })
    counted.stop()
    assert.is(status, 200, text)
    return Object.values(counted.calls).reduce((all, count) => all + count, 0)
  }
  await lookups(1)
  const [few, many] = [await lookups(1), await lookups(21)]
  // With each use, it would be 192 times in a turn of one step, and 5 times more in each other step.
  assert.ok(few < 100, `${few} in a turn of one step`)
  assert.ok(many - few < 20 * 3, `${(many - few) / 20} in a step`)
})

/** The bytes that are read from files until this path is replied to. */
const bytesUntilReply = async (path: string, ask: () => Promise<unknown>): Promise<number> => {
  const { readSync } = fs
  const { end } = ServerResponse.prototype
  let bytes = 0
  let atReply = Number.NaN
  const counted = (...args: unknown[]): number => {
    const count = Reflect.apply(readSync, fs, args) as number
    bytes += count
    return count
  }
  Object.assign(fs, { readSync: counted })
  syncBuiltinESMExports()
  ServerResponse.prototype.end = function (this: ServerResponse, ...args: unknown[]) {
    if (this.req.url === path) atReply = bytes
    return Reflect.apply(end, this, args)
  }
  try {
    await ask()
    return atReply
  } finally {
    Object.assign(fs, { readSync })
    syncBuiltinESMExports()
    ServerResponse.prototype.end = end
  }
}

test('sending a message reads no more of a long chat than of a short one', async () => {
  const app = await startApp()
  try {
    const idOf = async (count: number): Promise<string> => {
      const messages = Array.from({ length: count }, (_, at) => ({
        role: at % 2 ? 'assistant' : 'user',
        content: `message ${at}`,
      }))
      const { body } = await app.post('/api/session/import', { title: 'Talk', messages })
      return body.session.session_id
    }
    const send = async (session_id: string): Promise<void> => {
      const { body } = await app.post('/api/chat/start', { session_id, message: 'one more' })
      for await (const { event } of app.events(`/api/chat/stream?stream_id=${body.stream_id}`))
        if (event === 'stream_end') break
    }
    const bytesOf = async (count: number): Promise<number> => {
      const id = await idOf(count)
      // The first message loads modules and looks at the workspace.
      await send(id)
      return bytesUntilReply('/api/chat/start', () => send(id))
    }
    const [short, long] = [await bytesOf(2), await bytesOf(500)]
    assert.ok(long < short + 1_000, `${short} and ${long} bytes`)
  } finally {
    await app.close()
  }
})

test.run()
