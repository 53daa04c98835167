/** External agents: grouped choices, slash commands, late replies. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  choicesOf,
  ExternalAgentState,
} from '../../../public/features/external-agent/external-agent.ts'
import { fakePlatform } from '../_page.ts'
import type { ExternalAgent } from '../../../lib/schema/external.ts'

const test = suite('page: external agent chip')

const choice = (value: string) => ({ value, name: value.toUpperCase(), description: '' })

const tester: ExternalAgent = {
  agent: { id: 'tester', name: 'Tester' },
  is_open: true,
  sign_in: null,
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
const none: ExternalAgent = {
  agent: null,
  is_open: false,
  sign_in: null,
  mode: null,
  options: [],
  commands: [],
}

type Asked = { route: string; input: unknown; answer: (found: ExternalAgent) => void }

const build = () => {
  const asked: Asked[] = []
  const offered: string[][] = []
  const api = (route: string, input: unknown) =>
    new Promise(answer => asked.push({ route, input, answer }))
  const agent = new ExternalAgentState(
    { ...fakePlatform().platform, api: api as never },
    commands => offered.push(commands.map(({ name }) => name)),
  )
  return { agent, asked, offered }
}

test('offers no choices when the agent has none', () => {
  assert.equal(choicesOf(none, 'Mode', 'Sign in'), [])
})

test('offers the ways to sign in, one to copy and one that the agent takes itself', async () => {
  const way = (id: string, command: string) => ({ id, name: id, description: `by ${id}`, command })
  const out: ExternalAgent = {
    ...none,
    agent: tester.agent,
    sign_in: { said: 'Log in first.', methods: [way('web', ''), way('cli', 'tester login')] },
  }
  assert.equal(
    choicesOf(out, 'Mode', 'Sign in').map(({ group, label, value, name, description }) => [
      group,
      label,
      value,
      name,
      description,
    ]),
    [
      ['sign-in', 'Sign in', 'web', 'web', 'by web'],
      ['sign-in', 'Sign in', 'cli', 'cli', 'tester login'],
    ],
  )
  // Nothing to do once it is open.
  assert.equal(choicesOf({ ...out, is_open: true }, 'Mode', 'Sign in'), [])
  const { agent, asked } = build()
  void agent.load('one')
  asked[0]?.answer(out)
  await new Promise(setImmediate)
  assert.is(agent.commandOf('cli'), 'tester login')
  assert.is(agent.commandOf('web'), '')
  void agent.choose('one', { group: 'sign-in', value: 'web' })
  assert.equal(
    [asked[1]?.route, asked[1]?.input],
    ['POST /api/session/agent/sign-in', { session_id: 'one', method: 'web' }],
  )
})

test('groups modes and options and marks the current ones', () => {
  assert.equal(
    choicesOf(tester, 'Mode', 'Sign in').map(({ group, label, value, current }) => [
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
