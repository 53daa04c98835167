/** What is set for one agent, and what it is given: its environment, its limits, servers, pictures; what is kept of a session. */
import * as assert from 'uvu/assert'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isFetched, startTimeoutMs } from '../../../../lib/agent/acp/startup.ts'
import { LogLimiter } from '../../../../lib/agent/acp/running-agent.ts'
import { agentSuite } from './_external.ts'
import { until } from '../../../_wait.ts'
import { createTestClock } from '../../../_clock.ts'

const test = agentSuite('acp settings')

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

test('passes its environment to its process, but not to commands in our terminals', async at => {
  at.place.settings = { env: { OWN_KEY: 'k1' }, mcp: true }
  assert.is(JSON.parse((await at.say('env')).text).OWN_KEY, 'k1')
  const output = await at.say('run env')
  assert.not.match(String(output.messages.find(({ role }) => role === 'tool')?.content), /OWN_KEY/)
  // Another one is another process.
  at.place.settings = { env: { OWN_KEY: 'k2' }, mcp: true }
  assert.is(JSON.parse((await at.say('env')).text).OWN_KEY, 'k2')
})

test('passes MCP servers with supported transports to new and resumed sessions', async at => {
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
})

test('sends attached images as content, and other files by name', async at => {
  writeFileSync(join(at.workspace, 'dot.png'), PIXEL)
  writeFileSync(join(at.workspace, 'not.png'), 'text')
  const attachments = ['dot.png', 'not.png', 'a.txt', '../../etc/passwd', 'gone.png']
  const { text, warnings } = await at.say('recall', { request: { attachments } })
  assert.is(text, 'I have heard: recall + <image>')
  assert.is(warnings.length, 2)
})

test('warns if the agent does not accept images', async at => {
  at.place.traits = 'blind'
  writeFileSync(join(at.workspace, 'dot.png'), PIXEL)
  const { text, warnings } = await at.say('recall', { request: { attachments: ['dot.png'] } })
  assert.is(text, 'I have heard: recall')
  assert.match(warnings[0] ?? '', /doesn’t accept images/)
})

test('reports the title that the agent sets', async at => {
  await at.say('title A walk in the park')
  assert.equal(at.titles, ['A walk in the park'])
})

test('closes idle sessions beyond the limit and resumes them on demand', async at => {
  at.place.traits = 'closes'
  at.limit({ maxIdle: 1 })
  for (const sessionKey of ['one', 'two', 'three'])
    await at.say(`hello ${sessionKey}`, { request: { sessionKey } })
  // The one that asks is in use.
  assert.is((await at.say('open', { request: { sessionKey: 'three' } })).text, '1')
  const { text, warnings } = await at.say('recall', { request: { sessionKey: 'three' } })
  assert.match(text, /recall$/)
  assert.equal(warnings, [])
})

test('closes an idle session while another one is busy', async at => {
  at.place.traits = 'closes'
  at.limit({ idleMs: 50 })
  await at.say('hello one', { request: { sessionKey: 'one' } })
  at.saved.clear()
  const stop = new AbortController()
  const other = at.say('wait', { signal: stop.signal, request: { sessionKey: 'two' } })
  const peek = (key: string) => at.agents().peek(at.endpoint(), 'default', key)?.session
  await until(() => Boolean(peek('two')?.turn))
  assert.ok(peek('one'))
  await at.clock.advance(50)
  assert.is(peek('one'), undefined)
  stop.abort()
  await other
})

test('restores modes and options after a restart of the agent', async at => {
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
})

test('bounds the log of a noisy agent and logs the number of dropped lines', async at => {
  assert.is((await at.say('noise 20000')).text, 'Quiet.')
  assert.ok(at.lines.length < 200, String(at.lines.length))
  assert.is(at.lines.filter(line => /more than is kept/.test(line)).length, 1)
})

test('says how many lines were left out once it logs again', async () => {
  const lines: string[] = []
  const clock = createTestClock()
  const noise = new LogLimiter(line => void lines.push(line), clock)
  for (let line = 0; line < 100; line++) noise.write(`line ${line}`)
  assert.is(lines.length, 61)
  await clock.advance(120_000)
  noise.write('late')
  assert.equal(lines.slice(-2), ['40 lines were left out', 'late'])
})

test('a downloaded agent has a longer startup timeout', () => {
  for (const [command, fetched] of [
    ['npx -y x', true],
    ['/usr/bin/npx x', true],
    ['pnpm dlx x', true],
    ['uvx x', true],
    ['gemini --acp', false],
  ] as const) {
    assert.is(isFetched(command.split(' ')), fetched)
    assert.is(startTimeoutMs(command.split(' ')) > 60_000, fetched)
  }
})

test('a slow start is announced, and again each minute', async at => {
  at.place.traits = 'mute'
  const stop = new AbortController()
  const turn = at.say('hello', { signal: stop.signal })
  await at.clock.advance(15_000)
  await at.clock.advance(60_000)
  await at.clock.advance(60_000)
  await at.agents().close()
  const { warnings } = await turn
  assert.equal(warnings, [
    'Tester is starting.',
    'Tester is still starting after 1 min.',
    'Tester is still starting after 2 min.',
  ])
})

test('uses the agent’s own startup timeout', async at => {
  at.place.traits = 'mute'
  at.limit({ startMs: 60_000 })
  at.place.settings = { env: {}, mcp: true, startMs: 300 }
  const { outcome } = await at.say('hello')
  assert.match(`${outcome.failure?.message}`, /did not answer within/)
})

test.run()
