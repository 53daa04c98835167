/** External agents: grouped choices, slash commands, late replies. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  choicesOf,
  createExternalAgent,
} from '../../../public/features/external-agent/external-agent.ts'
import type { ExternalAgent } from '../../../lib/schema/external.ts'

const test = suite('page: external agent chip')

const choice = (value: string) => ({ value, name: value.toUpperCase(), description: '' })

const tester: ExternalAgent = {
  agent: { id: 'tester', name: 'Tester' },
  is_open: true,
  mode: { current: 'ask', choices: [choice('ask'), choice('free')] },
  options: [
    {
      id: 'loud',
      name: 'Loud',
      description: '',
      kind: 'switch',
      current: 'off',
      choices: [choice('on'), choice('off')],
    },
  ],
  commands: [{ name: 'plan', description: 'Make a plan', hint: 'what for' }],
}
const none: ExternalAgent = { agent: null, is_open: false, mode: null, options: [], commands: [] }

type Asked = { route: string; input: unknown; answer: (found: ExternalAgent) => void }

const build = () => {
  const asked: Asked[] = []
  const offered: string[][] = []
  const api = (route: string, input: unknown) =>
    new Promise(answer => asked.push({ route, input, answer }))
  const agent = createExternalAgent({ api: api as never }, commands =>
    offered.push(commands.map(({ name }) => name)),
  )
  return { agent, asked, offered }
}

test('offers no choices when the agent has none', () => {
  assert.equal(choicesOf(none, 'Mode'), [])
})

test('groups modes and options and marks the current ones', () => {
  assert.equal(
    choicesOf(tester, 'Mode').map(({ group, label, value, current }) => [
      group,
      label,
      value,
      current,
    ]),
    [
      ['mode', 'Mode', 'ask', true],
      ['mode', 'Mode', 'free', false],
      ['option:loud', 'Loud', 'on', false],
      ['option:loud', 'Loud', 'off', true],
    ],
  )
})

test('drops a reply for another session', async () => {
  const { agent, asked, offered } = build()
  const first = agent.load('one')
  const second = agent.load('two')
  asked[0]?.answer(tester)
  asked[1]?.answer(none)
  await Promise.all([first, second])
  assert.equal(agent.current.value, none)
  assert.equal(offered, [[]])
})

test('sends a choice to its route; offers commands until reset', async () => {
  const { agent, asked, offered } = build()
  const loading = agent.load('one')
  asked[0]?.answer(tester)
  await loading
  const mode = agent.choose('one', { group: 'mode', value: 'free' })
  assert.is(agent.busy.value, true)
  asked[1]?.answer(tester)
  await mode
  assert.is(agent.busy.value, false)
  void agent.choose('one', { group: 'option:loud', value: 'on' })
  assert.equal(
    asked.slice(1).map(({ route, input }) => [route, input]),
    [
      ['POST /api/session/agent/mode', { session_id: 'one', mode: 'free' }],
      ['POST /api/session/agent/option', { session_id: 'one', option: 'loud', value: 'on' }],
    ],
  )
  agent.reset()
  assert.equal(offered, [['plan'], ['plan'], []])
})

test.run()
