/** Another program's agent in every kind of trouble: each ends in a sentence, and the session stays usable. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { callContext } from '../../_call.ts'
import {
  answerFor,
  allowedKey,
  type PermissionContext,
  askPermission,
} from '../../../lib/agent/acp/permissions.ts'
import { Terminals } from '../../../lib/agent/acp/terminals.ts'
import type { Call } from '../../../lib/agent/acp/tool-calls.ts'
import type { ApprovalRequest } from '../../../lib/agent/types.ts'
import { Refusal } from '../../../lib/base/refusal.ts'
import { messageOf } from '../../../lib/errors.ts'
import { agentSuite } from '../../lib/agent/acp/_external.ts'
import { until } from '../../_wait.ts'

const test = agentSuite('acp trouble')

test('reports a missing program', async at => {
  const endpoint = { ...at.endpoint(), command: ['/nowhere/agent'] }
  const { outcome } = await at.say('hello', { request: { endpoint } })
  assert.match(`${outcome.failure?.message}`, /Tester could not be started.*not found/)
})

for (const [traits, words] of [
  ['dies', /ended with code 3: no license found/],
  ['v2', /speaks version 2 .* version 1/],
  ['mute', /did not answer within/],
] as const)
  test(`does not start: ${traits}`, async at => {
    at.place.traits = traits
    if (traits === 'mute') at.limit({ startMs: 300 })
    const { outcome, messages } = await at.say('hello')
    assert.is(outcome.status, 'failed')
    assert.match(`${outcome.failure?.message}`, words)
    assert.equal(messages, [])
  })

test('not signed in: reports the sign-in methods', async at => {
  at.place.traits = 'signed-out'
  const { outcome } = await at.say('hello')
  assert.is(outcome.failure?.type, 'error')
  assert.match(`${outcome.failure?.message}`, /Tester is not signed in/)
  assert.match(`${outcome.failure?.hint}`, /Web login \(run "tester login"\)/)
})

test('a crash during a turn is reported, and the next turn restores the session', async at => {
  await at.say('hello one')
  const dead = await at.say('die now')
  assert.is(dead.outcome.status, 'failed')
  assert.match(`${dead.outcome.failure?.message}`, /Tester ended with code 7: out of cheese/)
  assert.equal(dead.messages, [])
  assert.is(dead.events[0]?.type, 'token')
  const after = await at.say('recall')
  assert.is(after.outcome.status, 'finished')
  assert.is(after.text, 'I have heard: hello one | die now | recall')
})

test('tolerates other output on stdout and logs it', async at => {
  at.place.traits = 'noisy'
  const { outcome, text } = await at.say('garbage')
  assert.is(outcome.status, 'finished')
  assert.is(text, 'One. Two.')
  assert.ok(at.lines.includes('Tester: Welcome to the agent!'))
  assert.ok(at.lines.includes('Tester: npm WARN something'))
})

const SILENCE_MS = 15 * 60_000

test('cancels a turn that hangs, then kills the agent', async at => {
  at.place.traits = 'stubborn'
  const turn = at.say('hang')
  await until(() => at.clock.waiting().includes(SILENCE_MS))
  await at.clock.advance(SILENCE_MS)
  const { outcome } = await turn
  assert.is(outcome.status, 'failed')
  assert.match(`${outcome.failure?.message}`, /did not respond for 15 minutes and was stopped/)
  assert.is(at.agents().running(), 0)
  assert.is((await at.say('hello')).outcome.status, 'finished')
})

test('cancel: the agent is notified and keeps running', async at => {
  const stop = new AbortController()
  const { outcome } = await at.say('wait', {
    signal: stop.signal,
    react: event => event.type === 'token' && stop.abort(),
  })
  assert.is(outcome.status, 'stopped')
  assert.is(at.agents().running(), 1)
  assert.match((await at.say('recall')).text, /wait/)
})

test('stops an agent that ignores cancel', async at => {
  at.place.traits = 'deaf'
  at.limit({ graceMs: 200 })
  const stop = new AbortController()
  const { outcome } = await at.say('wait', {
    signal: stop.signal,
    react: event => event.type === 'token' && stop.abort(),
  })
  assert.is(outcome.status, 'stopped')
  assert.is(at.agents().running(), 0)
})

test('a flood ends the turn and is stored within the limit', async at => {
  at.place.traits = 'deaf'
  at.limit({ graceMs: 200 })
  const { outcome, events } = await at.say('flood')
  assert.match(`${outcome.failure?.message}`, /produced more output than one turn can hold/)
  const length = events.reduce(
    (sum, event) => sum + (event.type === 'token' ? event.text.length : 0),
    0,
  )
  assert.ok(length <= 4 * 1024 * 1024, String(length))
  assert.ok(events.length < 5_000, String(events.length))
})

test('rejects files outside and blocked commands, each with a reason', async at => {
  const { text } = await at.say('outside')
  assert.match(text, /refused: \/etc\/hostname is outside the workspace/)
  assert.match(text, /refused: \.\.\/stolen\.txt is outside/)
  assert.match(text, /refused: Refused, and no approval can allow it: deleting a system directory/)
  assert.not(existsSync(join(at.workspace, '../stolen.txt')))
})

test('allowing a program does not allow its arguments', async () => {
  const terminals = new Terminals()
  const asked: string[] = []
  const ctx = callContext(
    { env: { HOME: '/nobody', PATH: process.env.PATH ?? '' } },
    {
      async approve({ command }) {
        asked.push(command)
        return 'deny'
      },
    },
  )
  const agent = {
    name: 'Tester',
    allowed: new Set([allowedKey('rm', '/'), allowedKey('rm -rf ./old', '/')]),
  }
  const create = { sessionId: 's', command: 'rm', args: ['-rf', './precious'] }
  const refused = await terminals.create(ctx, create, agent).catch(messageOf)
  assert.match(refused, 'The user denied')
  assert.equal(asked, ['rm -rf ./precious'])
})

test('allowing applies in its folder, and for control files only once', async () => {
  const asked: string[] = []
  const terminals = new Terminals()
  const ctx = callContext(
    {
      env: { HOME: '/nobody', PATH: process.env.PATH ?? '' },
      controlPaths: ['/tmp/config.yaml'],
      signal: AbortSignal.abort(),
    },
    {
      async approve({ command }) {
        asked.push(command)
        return 'deny'
      },
    },
  )
  const removal = 'rm -rf ./old'
  const write = 'echo x >> /tmp/config.yaml'
  const agent = {
    name: 'Tester',
    allowed: new Set([allowedKey(removal, '/'), allowedKey(write, '/')]),
  }
  const run = async (command: string, cwd: string) => {
    const create = { sessionId: 's', command, cwd }
    return String(await terminals.create(ctx, create, agent).catch(messageOf))
  }
  // An ended turn starts nothing, but what is asked about is decided before.
  for (const [command, cwd, asks] of [
    [removal, '/', false],
    [removal, '/', false],
    [removal, '/tmp', true],
    [write, '/', false],
    [write, '/', true],
  ] as const) {
    asked.length = 0
    const said = await run(command, cwd)
    assert.equal(
      [asked.length > 0, /denied/.test(said)],
      [asks, asks],
      `${command} in ${cwd}: ${said}`,
    )
  }
})

test('no permission gives access to protected files', async () => {
  const asked: string[] = []
  const options = (['allow_once', 'reject_once'] as const).map(kind => ({
    optionId: kind,
    name: kind,
    kind,
  }))
  const asking = {
    name: 'Tester',
    request: {
      approve: async ({ command }: ApprovalRequest) => {
        asked.push(command)
        return 'once'
      },
      clarify: async () => null,
      workspace: '/work',
      env: {},
      forbidden: ['/home/of/agent/.env', '/work/state'],
      tools: [],
    },
    allowed: new Set(),
    explanation: '',
    warn: () => undefined,
    diff: '',
  } as unknown as PermissionContext
  const permit = async (kind: string, path: string) => {
    const call = { kind, title: 't', content: [], locations: [{ path }], rawInput: {} }
    const answer = await askPermission(options, call as unknown as Call, 'c', asking).catch(
      (error: unknown) => {
        if (error instanceof Refusal) return answerFor('deny', options)
        throw error
      },
    )
    return answer.outcome === 'selected' ? answer.optionId : answer.outcome
  }
  assert.is(await permit('read', '/home/of/agent/.env'), 'reject_once')
  assert.is(await permit('edit', 'state/sessions/a.jsonl'), 'reject_once')
  assert.equal(asked, [])
  assert.is(await permit('read', 'a.txt'), 'allow_once')
})

test('no permission allows a blocked command, whatever the user would answer', async at => {
  const { text, warnings } = await at.say('run rm -rf /')
  assert.is(text, 'It was c.')
  assert.equal(at.asked, [])
  assert.match(warnings[0] ?? '', /no approval can allow it/)
})

test('reports a refusal and an empty answer', async at => {
  assert.equal((await at.say('refuse')).warnings, ['Tester declined to continue.'])
  assert.equal((await at.say('nothing')).warnings, ['Tester ended without an answer.'])
})

test('exits when idle', async at => {
  at.limit({ idleMs: 50 })
  await at.say('hello')
  await at.clock.advance(49)
  assert.is(at.agents().running(), 1)
  await at.clock.advance(1)
  assert.is(at.agents().running(), 0)
  assert.match((await at.say('recall')).text, /hello \| recall/)
})

test.run()
