/** Open approvals and questions: the first answer counts, in any order; no answer is a denial. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Unapproved } from '../../../lib/base/unapproved.ts'
import type { Hub } from '../../../lib/http/hub.ts'
import type { TurnEvent } from '../../../lib/schema/event.ts'
import { idOf, type Question } from '../../../lib/schema/question.ts'
import type { Sessions } from '../../../lib/sessions/sessions.ts'
import { Questions } from '../../../lib/turns/questions.ts'
import { createTestClock } from '../../_clock.ts'

const questions = suite('questions')

const setup = () => {
  const journal: { t: string; [key: string]: unknown }[] = []
  const received: string[] = []
  const events: TurnEvent[] = []
  const waiting: number[] = []
  const lines: string[] = []
  const state = { isOpen: false, isFull: false }
  const clock = createTestClock(1_000)
  const sessions = {
    append(_: string, entries: { t: string }[]) {
      if (state.isFull) throw new Error('no space')
      journal.push(...entries)
    },
    setLive: (_: string, patch: { waiting?: number }) => waiting.push(patch.waiting ?? -1),
    tail: () => ({ messages: [] }),
  } as unknown as Sessions
  const hub = {
    publish: (_: string, event: { type: string }) => received.push(event.type),
    isShown: () => state.isOpen,
  } as unknown as Hub
  const log = (line: string) => void lines.push(line)
  const q = new Questions({ sessions, hub, clock, log }, () => ({
    append(event) {
      events.push(event)
      received.push(event.type)
    },
  }))
  return { q, clock, state, journal, events, received, waiting, lines }
}

const ask = (session_id: string, command = 'rm -rf x') => ({
  session_id,
  command,
  pattern_key: 'recursive delete',
  pattern_keys: ['recursive delete'],
  description: 'deletes',
})
const idIn = (open: Question[], at = 0) => idOf(open[at]!)

questions('of a thousand questions, it is known how they were answered', async () => {
  const { q } = setup()
  const known: string[] = []
  for (let at = 0; at <= 1_000; at++) {
    const answer = q.approve(ask('a'), 0)
    known.push(idIn(q.pending('a')))
    q.respond('a', 'approval', known[at], 'once', 'x')
    await answer
  }
  assert.is(q.respond('a', 'approval', known[0], 'once', 'y').answer, null)
  assert.is(q.respond('a', 'approval', known[1], 'deny', 'y').answer, 'once')
})

questions('makes every invisible character visible', async () => {
  const { q, journal } = setup()
  const odd = (text: string) => `\u00a0${text}\u202e\u200b\u3000x\u2028\u001b[2K `
  const plain = (text: string) => `⟨U+00A0⟩${text}⟨U+202E⟩⟨U+200B⟩⟨U+3000⟩x⟨U+2028⟩⟨U+001B⟩[2K `
  const answer = q.approve(
    {
      session_id: 'a',
      command: odd('rm'),
      pattern_key: odd('key'),
      pattern_keys: [odd('key')],
      description: odd('why'),
      cwd: odd('/w'),
      diff: odd('--- a/x\n\t+y'),
    },
    0,
  )
  const [shown] = q.pending('a') as unknown as Record<string, unknown>[]
  assert.equal(
    [shown?.command, shown?.pattern_key, shown?.pattern_keys, shown?.description, shown?.cwd],
    [plain('rm'), plain('key'), [plain('key')], plain('why'), plain('/w')],
  )
  assert.is(shown?.diff, plain('--- a/x\n\t+y'))
  assert.equal((journal[0] as unknown as { question: unknown }).question, shown)
  q.respond('a', 'approval', undefined, 'once', 'x')
  assert.is(await answer, 'once')
  void q.clarify({ session_id: 'a', question: 'A\u202e\u00a0?', choices_offered: ['\u2066b'] }, 0)
  const [asked] = q.pending('a') as unknown as Record<string, unknown>[]
  assert.equal([asked?.question, asked?.choices_offered], ['A⟨U+202E⟩\u00a0?', ['⟨U+2066⟩b']])
  q.close()
})

questions(
  'a row in the journal comes before its event, and the answer before its effect',
  async () => {
    const { q, journal, received, waiting } = setup()
    const answer = q.approve(ask('a'), 0)
    assert.equal(
      journal.map(entry => entry.t),
      ['asked'],
    )
    assert.equal(received, ['approval', 'asked'])
    q.respond('a', 'approval', idIn(q.pending('a')), 'session', 'phone')
    assert.equal(
      journal.map(entry => entry.t),
      ['asked', 'answered'],
    )
    assert.equal(received, ['approval', 'asked', 'answered', 'settled'])
    assert.equal(waiting, [1, 0])
    assert.is(await answer, 'session')
  },
)

const reasonOf = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => (error instanceof Unapproved ? error.reason : error))

questions(
  'a question waits while a page is open, and its time limit begins anew then',
  async () => {
    const { q, clock, state: page, events } = setup()
    page.isOpen = true
    const answer = reasonOf(q.approve(ask('a'), 5))
    await clock.advance(12)
    assert.is(q.pending('a').length, 1)
    page.isOpen = false
    await clock.advance(3)
    assert.is(await answer, 'timeout')
    assert.equal(events.at(-1)?.type, 'answered')
    q.close()
  },
)

questions(
  'after a restart, a question whose time has passed waits its whole limit for pages that connect again',
  async () => {
    const { q, clock, state: page, journal } = setup()
    const asked = {
      ...{ kind: 'approval' as const, approval_id: 'kept', ...ask('a') },
      ...{ requested_at: 0.1, expires_at: 0.105 },
    }
    q.restore(asked)
    await clock.advance(4)
    assert.is(q.pending('a').length, 1)
    page.isOpen = true
    await clock.advance(2)
    assert.is(q.pending('a').length, 1)
    page.isOpen = false
    await clock.advance(4)
    assert.equal([q.pending('a'), journal.at(-1)?.reason], [[], 'timeout'])
    q.close()
  },
)

questions(
  'a timeout is no denial of a person: it throws, and gives null for a clarification',
  async () => {
    const { q, clock, journal, events } = setup()
    const approval = reasonOf(q.approve(ask('a'), 5))
    await clock.advance(4)
    assert.is(q.pending('a').length, 1)
    await clock.advance(1)
    assert.is(await approval, 'timeout')
    const question = { session_id: 'a', question: 'Which?', choices_offered: [] }
    const clarification = q.clarify(question, 5)
    await clock.advance(5)
    assert.is(await clarification, null)
    assert.equal(
      journal.map(entry => entry.t),
      ['asked', 'answered', 'asked', 'answered'],
    )
    const late = events.flatMap(event => (event.type === 'answered' ? [event.data] : []))
    assert.equal(
      late.map(({ answer, reason }) => [answer, reason]),
      [
        ['deny', 'timeout'],
        ['', 'timeout'],
      ],
    )
    assert.equal(q.respond('a', 'clarify', late[1]?.id, 'this', 'phone'), {
      accepted: false,
      answer: '',
      reason: 'timeout',
    })
  },
)

questions(
  'a question is withdrawn when what asked is gone, and never asked when it already was',
  async () => {
    const { q, events } = setup()
    const gone = new AbortController()
    const approval = reasonOf(q.approve(ask('a'), 0, { signal: gone.signal }))
    const question = { session_id: 'a', question: 'Which?', choices_offered: [] }
    const clarification = q.clarify(question, 0, { signal: gone.signal })
    const answered = q.approve(ask('a', 'other'), 0, { signal: gone.signal })
    q.respond('a', 'approval', idIn(q.pending('a').slice(2)), 'once', 'phone')
    gone.abort()
    assert.equal(await Promise.all([approval, clarification, answered]), [
      'withdrawn',
      null,
      'once',
    ])
    assert.equal(q.all(), [])
    assert.is(await reasonOf(q.approve(ask('a'), 0, { signal: gone.signal })), 'withdrawn')
    const reasons = events.flatMap(event => (event.type === 'answered' ? [event.data.reason] : []))
    assert.equal(reasons, [undefined, 'withdrawn', 'withdrawn'])
  },
)

questions(
  'an answer that cannot be written is a no all the same, and nothing is left open',
  async () => {
    const { q, clock, state, lines } = setup()
    const answer = reasonOf(q.approve(ask('a'), 5))
    state.isFull = true
    await clock.advance(5)
    assert.is(await answer, 'timeout')
    assert.equal([q.all(), lines.length], [[], 1])
  },
)

questions('merges identical questions and denies open ones at the end of the turn', async () => {
  const { q } = setup()
  const question = { session_id: 'a', question: 'Which?', choices_offered: ['x'] }
  const both = [q.clarify(question, 0), q.clarify(question, 0)]
  const approval = q.approve(ask('a'), 0)
  const other = q.approve(ask('b'), 0)
  assert.is(q.pending('a').length, 2)
  q.denyAll('a', 'cancel')
  assert.equal(await Promise.all(both), [null, null])
  assert.is(await approval, 'deny')
  assert.is(q.pending('b').length, 1)
  q.respond('b', 'approval', undefined, 'once', 'x')
  assert.is(await other, 'once')
})

questions.run()
