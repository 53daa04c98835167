/** What is set for one agent, and what it is given: its environment, its limits, servers, pictures; what is kept of a session. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isFetched, startTimeoutMs, withStartupNotices } from '../../../../lib/agent/acp/startup.ts'
import { createLogLimiter } from '../../../../lib/agent/acp/log-limiter.ts'
import { using } from './_external.ts'

const test = suite('acp settings')

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

test(
  'its own environment reaches its process, and no command it runs through us',
  using('', {}, async at => {
    at.place.settings = { env: { OWN_KEY: 'k1' }, mcp: true }
    assert.is(JSON.parse((await at.say('env')).text).OWN_KEY, 'k1')
    const output = await at.say('run env')
    assert.not.match(
      String(output.messages.find(({ role }) => role === 'tool')?.content),
      /OWN_KEY/,
    )
    // Another one is another process.
    at.place.settings = { env: { OWN_KEY: 'k2' }, mcp: true }
    assert.is(JSON.parse((await at.say('env')).text).OWN_KEY, 'k2')
  }),
)

test(
  'servers are passed on in the ways it can connect, at the beginning and when it goes on',
  using('', {}, async at => {
    at.place.mcpServers = [
      { kind: 'stdio', name: 'notes', command: 'notes', args: ['--x'], env: { WORD: 'w' } },
      { kind: 'http', name: 'web', url: 'http://127.0.0.1:1/mcp', headers: { A: 'b' } },
      { kind: 'sse', name: 'old', url: 'http://127.0.0.1:1/sse', headers: {} },
    ]
    const wanted = [
      { name: 'notes', command: 'notes', args: ['--x'], env: [{ name: 'WORD', value: 'w' }] },
      {
        type: 'http',
        name: 'web',
        url: 'http://127.0.0.1:1/mcp',
        headers: [{ name: 'A', value: 'b' }],
      },
    ]
    assert.equal(JSON.parse((await at.say('servers')).text), wanted)
    await at.restart()
    assert.equal(JSON.parse((await at.say('servers')).text), wanted)
    at.place.settings = { env: {}, mcp: false }
    await at.restart()
    assert.equal(JSON.parse((await at.say('servers')).text), [])
  }),
)

test(
  'pictures a message came with are sent along; other files are only named',
  using('', {}, async at => {
    writeFileSync(join(at.workspace, 'dot.png'), PIXEL)
    writeFileSync(join(at.workspace, 'not.png'), 'text')
    const attachments = ['dot.png', 'not.png', 'a.txt', '../../etc/passwd', 'gone.png']
    const { text, warnings } = await at.say('recall', { request: { attachments } })
    assert.is(text, 'I have heard: recall + <image>')
    assert.is(warnings.length, 2)
  }),
)

test(
  'an agent that takes no pictures gets none, and that is said',
  using('blind', {}, async at => {
    writeFileSync(join(at.workspace, 'dot.png'), PIXEL)
    const { text, warnings } = await at.say('recall', { request: { attachments: ['dot.png'] } })
    assert.is(text, 'I have heard: recall')
    assert.match(warnings[0] ?? '', /doesn't accept images/)
  }),
)

test(
  'its title is handed over',
  using('', {}, async at => {
    await at.say('title A walk in the park')
    assert.equal(at.titles, ['A walk in the park'])
  }),
)

test(
  'conversations nobody uses are closed beyond their number, and go on when they are wanted',
  using('closes', { maxIdle: 1 }, async at => {
    for (const sessionKey of ['one', 'two', 'three'])
      await at.say(`hello ${sessionKey}`, { request: { sessionKey } })
    // The one that asks is in use.
    assert.is((await at.say('open', { request: { sessionKey: 'three' } })).text, '1')
    const { text, warnings } = await at.say('recall', { request: { sessionKey: 'three' } })
    assert.match(text, /recall$/)
    assert.equal(warnings, [])
  }),
)

test(
  'a conversation that is idle is closed while another one works',
  using('closes', { idleMs: 50 }, async at => {
    await at.say('hello one', { request: { sessionKey: 'one' } })
    at.saved.clear()
    const stop = new AbortController()
    const other = at.say('wait', { signal: stop.signal, request: { sessionKey: 'two' } })
    while (at.agents().peek(at.endpoint(), 'default', 'one'))
      await new Promise(resolve => setTimeout(resolve, 10))
    stop.abort()
    await other
  }),
)

test(
  'what was chosen is chosen again after it has ended',
  using('', {}, async at => {
    await at.say('hello')
    const kept = at.saved.get('tester')
    assert.is(kept?.mode, 'ask')
    if (kept) at.saved.set('tester', { ...kept, mode: 'free', options: { loud: true } })
    await at.restart()
    assert.equal(JSON.parse((await at.say('chosen')).text), {
      mode: 'free',
      model: 'small',
      loud: true,
    })
  }),
)

test(
  'whatever it prints, the log stays small and says what is left out',
  using('', {}, async at => {
    assert.is((await at.say('noise 20000')).text, 'Quiet.')
    assert.ok(at.lines.length < 200, String(at.lines.length))
    assert.is(at.lines.filter(line => /more than is kept/.test(line)).length, 1)
  }),
)

test('noise: a burst, a word about the rest, and lines again when it is quiet', () => {
  const lines: string[] = []
  const clock = { now: 0 }
  const noise = createLogLimiter(
    line => void lines.push(line),
    () => clock.now,
  )
  for (let at = 0; at < 10_000; at++) {
    noise(`line ${at}`)
    clock.now += 10
  }
  assert.ok(lines.length < 130, String(lines.length))
  clock.now += 600_000
  noise('late')
  const [note, last] = lines.slice(-2)
  assert.match(note ?? '', /^\d+ lines were left out$/)
  assert.is(last, 'late')
})

test('one that is fetched first has longer, and what takes long is said', async () => {
  for (const [command, fetched] of [
    [['npx', '-y', 'x'], true],
    [['/usr/bin/npx', 'x'], true],
    [['pnpm', 'dlx', 'x'], true],
    [['uvx', 'x'], true],
    [['gemini', '--acp'], false],
  ] as const) {
    assert.is(isFetched(command), fetched)
    assert.is(startTimeoutMs(command) > 60_000, fetched)
  }
  const said: string[] = []
  const { promise, resolve } = Promise.withResolvers<string>()
  const say = (words: string) => {
    said.push(words)
    resolve('started')
  }
  assert.is(
    await withStartupNotices(promise, { name: 'Claude', command: ['npx', 'x'], notify: say }, 1),
    'started',
  )
  assert.match(said.join(), /^Claude is starting\. npx downloads it first/)
})

test(
  'the limit of its start is its own',
  using('mute', { startMs: 60_000 }, async at => {
    at.place.settings = { env: {}, mcp: true, startMs: 300 }
    const { outcome } = await at.say('hello')
    assert.match(outcome.failure?.message ?? '', /did not answer within/)
  }),
)

test.run()
