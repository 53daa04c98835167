/** Resuming an external agent's session: in an empty session, a new one, or the one that has it. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  EarlierSessions,
  type EarlierSession,
} from '../../../public/features/external-agent/agent-sessions.ts'

import { fakePlatform } from '../_page.ts'

const test = suite('page: earlier sessions of an agent')

const past: EarlierSession = {
  agent_session_id: 's1',
  title: 'Mend the door',
  updated_at: 1,
  cwd: '/w',
  session_id: null,
}
const here = { id: 'one', isEmpty: true, model: '@acp:tester', workspace: '/w' }

const build = (refused = '') => {
  const log: unknown[] = []
  const answers: Record<string, unknown> = {
    'GET /api/session/agent/sessions': { sessions: [past], note: '' },
    'POST /api/session/new': { session: { session_id: 'two' } },
    'POST /api/session/agent/adopt': { session_id: '', message_count: 0, note: 'Not shown.' },
  }
  const api = async (route: string, input: unknown) => {
    log.push([route, input])
    if (route === refused) throw new Error('refused')
    return answers[route]
  }
  const agent = new EarlierSessions({
    platform: { ...fakePlatform().platform, api: api as never },
    upsert: row => log.push(['upsert', row.session_id]),
    open: id => log.push(['open', id]),
    notify: note => log.push(['tell', note]),
  })
  return { agent, log }
}

const adopt = (session_id: string) => [
  'POST /api/session/agent/adopt',
  { session_id, agent_session_id: 's1', title: 'Mend the door' },
]

test('opens nothing when the server rejects it', async () => {
  const { agent, log } = build('POST /api/session/agent/adopt')
  try {
    await agent.pick(here, past)
    assert.unreachable()
  } catch (error) {
    assert.is((error as Error).message, 'refused')
  }
  assert.equal(log, [adopt('one')])
})

test('adopts into an empty session', async () => {
  const { agent, log } = build()
  await agent.load('one')
  assert.equal(agent.list.value?.sessions, [past])
  await agent.pick(here, past)
  assert.equal(log.slice(1), [adopt('one'), ['tell', 'Not shown.']])
  agent.reset()
  assert.is(agent.list.value, null)
})

test('creates a session beside a non-empty one; opens one that exists', async () => {
  const { agent, log } = build()
  await agent.pick({ ...here, isEmpty: false }, past)
  assert.equal(log, [
    ['POST /api/session/new', { model: '@acp:tester', workspace: '/w' }],
    ['upsert', 'two'],
    adopt('two'),
    ['tell', 'Not shown.'],
    ['open', 'two'],
  ])
  log.length = 0
  await agent.pick(here, { ...past, session_id: 'ours' })
  assert.equal(log, [['open', 'ours']])
})

test.run()
