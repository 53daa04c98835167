/** Answers to questions: what becomes of each request is said where it was made, and an answer is sent once. */
import '../../../_jsx.ts'
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Approval, Clarify } from '../../../../lib/schema/question.ts'
import { ApiError } from '../../../../public/api.ts'
import {
  answerQuestion,
  answerState,
  answerWithToast,
  writeAnswer,
  writtenAnswer,
} from '../../../../public/features/approvals/answer.ts'
import { createServerClock } from '../../../../public/parts/server-clock.ts'
import { createTestClock } from '../../../_clock.ts'
import { fakeApi } from '../../_page.ts'

const { QuestionCard } = await import('../../../../public/features/approvals/question-card.tsx')

const test = suite('answers to questions')

const clock = createServerClock(createTestClock())
const RESPOND = 'POST /api/approval/respond'
const CLARIFY = 'POST /api/clarify/respond'

let count = 0
const approval = (more: Partial<Approval> = {}): Approval => ({
  kind: 'approval',
  approval_id: `a${++count}`,
  session_id: 's',
  command: 'make deploy',
  pattern_key: 'k',
  pattern_keys: ['k'],
  description: '',
  requested_at: 1,
  ...more,
})
const clarify = (): Clarify => ({
  kind: 'clarify',
  clarify_id: `c${++count}`,
  session_id: 's',
  question: 'Which port?',
  choices_offered: [],
  requested_at: 1,
})
const OPEN = { isSent: false, isSettled: false, words: '' }

test('the session, the id, the answer and the rule are those of the question that was shown', async () => {
  const { api, of } = fakeApi({
    [RESPOND]: ({ choice }) => ({ accepted: true, answer: choice }),
    [CLARIFY]: ({ response }) => ({ accepted: true, answer: response }),
  })
  const [command, question] = [approval({ session_id: 'other' }), clarify()]
  await answerQuestion(api, command, 'always', { scope: 'workspace', rule: 'make *' })
  await answerQuestion(api, question, '8080')
  const { approval_id } = command
  assert.equal(of(RESPOND), [
    { session_id: 'other', choice: 'always', approval_id, scope: 'workspace', rule: 'make *' },
  ])
  assert.equal(of(CLARIFY), [
    { session_id: 's', response: '8080', clarify_id: question.clarify_id },
  ])
})

test('what is being written is kept for all places that show the question, until it was answered so', async () => {
  const { api, answers } = fakeApi({
    [CLARIFY]: () => {
      throw new ApiError(500, 'failed')
    },
  })
  const question = clarify()
  const plan: Clarify = { ...clarify(), plan: true }
  writeAnswer(question, '80 "maybe"')
  writeAnswer(plan, 'smaller steps')
  const drawn = (asked: Clarify) =>
    renderToString(h(QuestionCard, { question: asked, clock, onAnswer: () => undefined }))
  // Another chat was shown, and this one was read again.
  assert.match(drawn({ ...question }), 'value="80 &quot;maybe&quot;"')
  assert.match(drawn({ ...plan }), 'value="smaller steps"')
  assert.match(drawn(clarify()), 'value/>')
  await answerQuestion(api, question, '80')
  assert.is(writtenAnswer(question), '80 "maybe"')
  answers[CLARIFY] = () => ({ accepted: true, answer: '80' })
  await answerQuestion(api, question, '80')
  assert.equal([writtenAnswer(question), writtenAnswer(plan)], ['', 'smaller steps'])
})

test('it is sent once from all places that show it, until its own request has ended', async () => {
  const reply = Promise.withResolvers<unknown>()
  const { api, calls } = fakeApi({ [RESPOND]: () => reply.promise })
  const asked = approval()
  const first = answerQuestion(api, asked, 'once')
  assert.is(await answerQuestion(api, asked, 'once'), null)
  assert.is(await answerQuestion(api, { ...asked }, 'deny'), null, 'in the inbox')
  assert.equal(answerState(asked), { isSent: true, isSettled: false, words: '' })
  assert.equal(answerState(approval()), OPEN, 'another question')
  reply.resolve({ accepted: true, answer: 'once' })
  assert.equal(await first, { kind: 'counted', words: 'Allowed once' })
  assert.is(await answerQuestion(api, asked, 'once'), null)
  assert.is(calls.length, 1)
  assert.equal(answerState(asked), { isSent: true, isSettled: true, words: 'Allowed once' })
  assert.equal(answerState({ ...asked }), OPEN, 'asked anew, after a restart of the server')
})

test('after a failure the question can be answered again at once, and says why', async () => {
  const service = fakeApi({})
  const shown: string[] = []
  const toasts = {
    show: (text: string) => shown.push(text),
    showError: (error: unknown) => shown.push(String(Object(error).message)),
  }
  const failures: [unknown, string][] = [
    [new ApiError(500, 'Internal error'), 'Internal error'],
    [new ApiError(403, 'Only an owner can allow this.'), 'Only an owner can allow this.'],
    [new ApiError(404, 'Session not found'), 'Session not found'],
    [new ApiError(0, 'x'), 'Can’t reach the server'],
    [new DOMException('aborted', 'TimeoutError'), 'Can’t reach the server'],
  ]
  const asked = approval()
  for (const [error, words] of failures) {
    service.answers[RESPOND] = () => Promise.reject(error)
    const sent = answerWithToast({ api: service.api, toasts }, asked, 'once')
    assert.equal(answerState(asked), { isSent: true, isSettled: false, words: '' })
    await sent
    assert.equal(answerState(asked), { ...OPEN, words })
    assert.equal(answerState({ ...asked }), { ...OPEN, words }, 'a list that was read again')
  }
  assert.is(shown.length, failures.length)
  service.answers[RESPOND] = () => ({ accepted: true, answer: 'once' })
  await answerWithToast({ api: service.api, toasts }, asked, 'once')
  assert.is(answerState(asked).words, 'Allowed once')
  assert.is(shown.length, failures.length)
})

test('an answer that came too late says which one counts, or that none is needed', async () => {
  const { api, answers } = fakeApi({})
  const shown: string[] = []
  const toasts = {
    show: (text: string) => shown.push(text),
    showError: (error: unknown) => assert.unreachable(String(error)),
  }
  const late = async (question: Approval | Clarify, reply: object) => {
    answers[RESPOND] = answers[CLARIFY] = () => ({ accepted: false, ...reply })
    await answerWithToast({ api, toasts }, question, 'deny')
    assert.equal(answerState(question), {
      isSent: true,
      isSettled: true,
      words: shown.at(-1) ?? '',
    })
  }
  await late(approval(), { answer: 'once' })
  await late(clarify(), { answer: 'always' })
  await late(approval(), { answer: 'deny', reason: 'timeout' })
  await late(clarify(), { answer: '', reason: 'withdrawn' })
  await late(approval(), { answer: 'deny', reason: 'ended' })
  await late(approval(), { answer: null })
  assert.equal(shown, [
    'Already answered: Allowed once',
    'Already answered: always',
    'No answer in time',
    'No longer needed',
    'It ended before an answer',
    'No longer needed',
  ])
})

test.run()
