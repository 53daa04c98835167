/** Decisions of journals that were written by earlier versions, or edited by hand. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Decision } from '../../../lib/schema/decision.ts'
import { decisionSentence } from '../../../lib/schema/decision-words.ts'
import { foldForward } from '../../../lib/sessions/fold.ts'

const test = suite('sessions/decisions')

const approval = { kind: 'approval', approval_id: 'a', command: 'rm -rf build', requested_at: 10 }
const clarify = { kind: 'clarify', clarify_id: 'a', question: 'Which?', requested_at: 10 }

/** What a journal with this question and this answer has. */
const decided = (question: object, answered: object): Decision => {
  const lines = [
    { n: 1, t: 'session', at: 1, v: 1, id: 'x', meta: {} },
    { n: 2, t: 'message', at: 2, message: { id: 'm2', role: 'user', content: 'Go' } },
    { n: 3, t: 'asked', at: 10, question },
    { n: 4, t: 'answered', at: 310, id: 'a', ...answered },
  ]
  const bytes = lines.map(line => ({ offset: 0, bytes: Buffer.from(JSON.stringify(line)) }))
  const [message] = foldForward('x', bytes).folded.messages
  return message!._decisions![0]!
}

test('lines without a reason or a rule: who answered, and why no one did', () => {
  const of = (by: string | undefined, answer = 'deny') => {
    const { reason, by: person, auto } = decided(approval, { kind: 'approval', answer, by })
    return [reason, person, auto]
  }
  assert.equal(of('timeout'), ['timeout', undefined, undefined])
  assert.equal(of('withdrawn'), ['withdrawn', undefined, undefined])
  for (const by of ['end of turn', 'cancel', 'restart', 'new turn', 'mode'])
    assert.equal(of(by), ['ended', undefined, undefined])
  assert.equal(of('127.0.0.1'), [undefined, undefined, undefined])
  assert.equal(of(undefined), [undefined, undefined, undefined])
  assert.equal(of('Anna (127.0.0.1)'), [undefined, 'Anna', undefined])
  assert.equal(of('Anna (timeout) (127.0.0.1)', 'once'), [undefined, 'Anna (timeout)', undefined])
  assert.equal(of('yolo', 'once'), [undefined, undefined, 'yolo'])
})

test('what a lasting permission covers', () => {
  const rule = { scope: 'workspace', words: ['git', 'push'] }
  const { scope, rule: words } = decided(approval, { answer: 'always', by: '::1', rule })
  assert.equal([scope, words], ['workspace', 'git push *'])
  const odd = { answer: 'session', rule: { scope: 'everything', words: 1 } }
  assert.equal(decided(approval, odd).scope, 'session')
})

test('fields of another type are left out, and long texts are cut', () => {
  const odd = { ...approval, command: 7, call_id: 3, requested_at: 'soon' }
  assert.equal(decided(odd, { answer: 5 }), {
    id: 'a',
    kind: 'approval',
    what: '',
    answer: '',
    asked_at: 10,
    answered_at: 310,
  })
  const long = decided({ ...clarify, question: 'x'.repeat(9_000) }, { answer: 'y' })
  assert.is(long.what.length, 4_000)
  const plan = decided({ ...clarify, plan: true, question: '\n# First\nSecond' }, { answer: 'y' })
  assert.equal([plan.kind, plan.what], ['plan', 'First'])
})

test('a sentence for each', () => {
  const say = (question: object, answered: object) => {
    const { lead, what, end } = decisionSentence(decided(question, answered))
    return [lead, what, end].filter(Boolean).join(' ')
  }
  assert.is(say(clarify, { answer: 'SQLite' }), 'Asked: Which? — SQLite')
  assert.is(say(clarify, { answer: '', by: 'timeout' }), 'Asked: Which? — not answered in time')
  assert.is(
    say(approval, { answer: 'session', by: 'Anna (::1)' }),
    'Anna allowed rm -rf build for this chat',
  )
  assert.is(say(approval, { answer: 'deny', by: '::1' }), 'Denied rm -rf build')
  assert.is(
    say(approval, { answer: 'deny', by: 'timeout' }),
    'Approval needed: rm -rf build — not answered in time',
  )
  assert.is(
    say(approval, { answer: 'once', auto: 'off' }),
    'Allowed rm -rf build without a question: approvals are off',
  )
  const plan = { ...clarify, plan: true, question: 'Move it' }
  assert.is(say(plan, { answer: 'Approve' }), 'Plan: Move it — approved')
  assert.is(say(plan, { answer: 'Keep planning' }), 'Plan: Move it — not approved yet')
})

test.run()
