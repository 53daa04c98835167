/** Keys of the host agent's config.yaml that change what a turn does. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../_clock.ts'
import { startChatAt } from './_chat.ts'

const test = suite('obeyed keys')

const start = async (config: string) => {
  const clock = createTestClock()
  const chat = await startChatAt(clock)
  const path = join(chat.app.home, 'config.yaml')
  writeFileSync(path, readFileSync(path, 'utf8') + config)
  return { clock, chat }
}

test('auxiliary.title_generation.enabled: no model is asked for a title', async () => {
  const { chat } = await start('auxiliary:\n  title_generation:\n    enabled: false\n')
  chat.provider.push({ text: 'Done.' })
  const id = await chat.newSession()
  await chat.turn(id, 'Explain the tides')
  assert.is(chat.provider.requests.length, 1)
  const { session } = (await chat.app.get(`/api/session?session_id=${id}`)).body
  assert.match(session.title, /tides/i)
  await chat.close()
})

test('the page names what config.yaml says and nobody does', async () => {
  const { chat } = await start(
    'modle:\n  default: x\ndisplay:\n  skin: mono\nagent:\n  max_turns: many\n',
  )
  const { ignored } = (await chat.app.get('/api/config/problems')).body
  const whys = Object.fromEntries(ignored.map(({ key, why }: Record<string, string>) => [key, why]))
  assert.equal(Object.keys(whys).sort(), ['agent.max_turns', 'display.skin', 'modle'])
  assert.equal(
    [whys.modle, typeof whys['display.skin'], typeof whys['agent.max_turns']],
    [null, 'string', 'string'],
  )
  await chat.close()
})

for (const [config, waits] of [
  ['clarify:\n  timeout: 0\n', true],
  ['agent:\n  clarify_timeout: 0\n', true],
  ['clarify:\n  timeout: 5\nagent:\n  clarify_timeout: 0\n', true],
  ['clarify:\n  timeout: 0\nagent:\n  clarify_timeout: 5\n', false],
  ['', false],
] as const)
  test(`a question waits ${waits ? 'for ever' : 'a while'} with ${JSON.stringify(config)}`, async () => {
    const { chat, clock } = await start(config)
    chat.provider.push(
      { toolCalls: [{ name: 'clarify', arguments: { question: 'Which?' } }] },
      { text: 'Done.' },
      { text: 'Title' },
    )
    const id = await chat.newSession()
    const stream = await chat.send(id, 'Ask me')
    await chat.follow(stream, 'clarify')
    await clock.advance(3_600_000)
    const { pending } = (await chat.app.get(`/api/clarify/pending?session_id=${id}`)).body
    assert.is(Boolean(pending), waits)
    if (waits) await chat.app.post('/api/clarify/respond', { session_id: id, response: 'this' })
    await chat.follow(stream)
    await chat.close()
  })

test.run()
