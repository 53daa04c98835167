/** Questions about destinations of a running command: one for each, remembered for the command, not after its turn. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { callContext } from '../../../_call.ts'
import { isAboutCall } from '../../../../lib/agent/permissions/check-call.ts'
import { Countdown } from '../../../../lib/agent/tools/countdown.ts'
import { NetworkGate } from '../../../../lib/agent/tools/network-gate.ts'
import type { ApprovalRequest, NetworkTarget } from '../../../../lib/agent/tool-services.ts'
import type { Tool } from '../../../../lib/agent/types.ts'
import { Unapproved } from '../../../../lib/base/unapproved.ts'
import type { ApprovalChoice } from '../../../../lib/schema/question.ts'
import { createTestClock } from '../../../_clock.ts'

const test = suite('network gate')

const NPM: NetworkTarget = { host: 'registry.npmjs.org', port: 443 }
const RUNNING = new AbortController().signal

type Answer = (ask: ApprovalRequest) => Promise<ApprovalChoice>

const setUp = (answer: Answer, allowsNetwork = (_key: string) => false) => {
  const asked: ApprovalRequest[] = []
  const turn = new AbortController()
  const gate = new NetworkGate(
    callContext(
      { signal: turn.signal, allowsNetwork },
      {
        approve(ask) {
          asked.push(ask)
          return answer(ask)
        },
      },
    ),
    { command: 'npm install', cwd: '/work', runsIn: 'sandbox' },
  )
  return { asked, turn, gate, check: (target = NPM) => gate.check(target, RUNNING) }
}

test('connections to one host share one question, and its answer is for the whole command', async () => {
  const { promise, resolve } = Promise.withResolvers<ApprovalChoice>()
  const { asked, check } = setUp(() => promise)
  const both = Promise.all([check(), check({ ...NPM, port: 80 })])
  resolve('once')
  assert.equal(await both, [null, null])
  assert.is(await check(), null)
  assert.equal(
    asked.map(({ signal: _, ...ask }) => ask),
    [
      {
        command: 'npm install',
        cwd: '/work',
        runsIn: 'sandbox',
        patternKeys: ['network: registry.npmjs.org'],
        description: '`npm install` wants to reach registry.npmjs.org.',
        reasons: [{ reaches: { command: 'npm install', place: 'registry.npmjs.org' } }],
        choices: ['once', 'session', 'always', 'deny'],
        network: NPM,
      },
    ],
  )
})

test('another port, and a name that leads into the own network, are questions of their own', async () => {
  const { asked, check } = setUp(async () => 'once')
  const host = 'nas.example'
  await check({ host, port: 443 })
  await check({ host, port: 22 })
  await check({ host, port: 443, isPrivate: true, address: '10.0.0.5' })
  await check({ host: 'fd00::5', port: 8_080, isPrivate: true })
  assert.equal(
    asked.map(({ patternKeys, description }) => [...patternKeys, description]),
    [
      ['network: nas.example', '`npm install` wants to reach nas.example.'],
      ['network: nas.example:22', '`npm install` wants to reach nas.example:22.'],
      [
        'network: nas.example (own network)',
        '`npm install` wants to reach nas.example, which is 10.0.0.5 in your own network.',
      ],
      [
        'network: [fd00::5]:8080',
        '`npm install` wants to reach [fd00::5]:8080 in your own network.',
      ],
    ],
  )
})

test('a denial, and no answer in time: a sentence, no second question, and a note for the model', async () => {
  for (const [answer, sentence] of [
    [async () => 'deny', /^The user denied access to registry\.npmjs\.org\. /],
    [() => Promise.reject(new Unapproved('timeout')), /^Not approved: no one answered in time/],
    [() => Promise.reject(new Unapproved('task')), /^Not approved: a scheduled task cannot ask/],
  ] as [Answer, RegExp][]) {
    const { asked, check, gate } = setUp(answer)
    assert.match((await check()) ?? '', sentence)
    assert.match((await check()) ?? '', sentence)
    assert.is(asked.length, 1)
    assert.equal(gate.fields(), { network: 'Not allowed: registry.npmjs.org.' })
  }
  assert.equal(setUp(async () => 'once').gate.fields(), {})
})

test('after the turn: no question; what was allowed before or since counts, at each connection', async () => {
  const allowed = new Set<string>()
  const { asked, turn, check } = setUp(
    async () => 'once',
    key => allowed.has(key),
  )
  assert.is(await check(), null)
  turn.abort()
  assert.is(await check(), null)
  const other = { host: 'a.example', port: 443 }
  assert.match((await check(other)) ?? '', /was not allowed before, and the turn/)
  allowed.add('network: a.example')
  assert.is(await check(other), null)
  assert.is(asked.length, 1)
})

test('the time limit stands still while something is asked, for all questions together', async () => {
  const clock = createTestClock()
  const answers = [Promise.withResolvers<ApprovalChoice>(), Promise.withResolvers<ApprovalChoice>()]
  const open = [...answers]
  const { check, gate } = setUp(() => open.shift()?.promise ?? Promise.reject(new Error('?')))
  let isOver = false
  gate.pauses(
    new Countdown(clock, 1_000, () => {
      isOver = true
    }),
  )
  await clock.advance(600)
  const one = check()
  const two = check({ host: 'b.example', port: 443 })
  await clock.advance(5_000)
  answers[0]?.resolve('once')
  await one
  await clock.advance(5_000)
  answers[1]?.resolve('deny')
  await two
  await clock.advance(399)
  assert.not.ok(isOver)
  await clock.advance(1)
  assert.ok(isOver)
})

test('what allows the command, a rule or a hook, allows no destination', () => {
  const ask = { command: 'npm install', cwd: '/work', patternKeys: ['network: a'], description: '' }
  const tool = { name: 'terminal' } as Tool
  assert.ok(isAboutCall(tool, ask))
  assert.not.ok(isAboutCall(tool, { ...ask, network: NPM }))
})

test.run()
