/** Plan mode in the page: the card of a plan, the plan of an earlier call, and `/plan`. */
import '../../_jsx.ts'
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { App } from '../../../public/app.ts'
import { createTestClock } from '../../_clock.ts'
import { createServerClock } from '../../../public/parts/server-clock.ts'

const { QuestionCard } = await import('../../../public/features/approvals/question-card.tsx')
const { PresentedPlan } = await import('../../../public/features/approvals/plan-card.tsx')
const { planCommand } = await import('../../../public/features/plan/plan-mode.ts')

const test = suite('plan mode in the page')

test('a plan is rendered as Markdown, with both answers and a field for a comment', () => {
  const question = {
    kind: 'clarify' as const,
    clarify_id: 'q',
    session_id: 'a',
    question: '## Steps\n\n1. Write **x**\n\n<img src=x onerror=alert(1)>',
    choices_offered: ['Approve', 'Keep planning'],
    plan: true as const,
    requested_at: 1,
  }
  const clock = createServerClock(createTestClock())
  const html = renderToString(h(QuestionCard, { question, clock, onAnswer: () => undefined }))
  for (const part of ['Steps</h', '<strong>x</strong>', 'Approve plan', 'Keep planning', '<input'])
    assert.match(html, part)
  assert.not.match(html, '<img')
  const argsText = JSON.stringify({ plan: '**later**' })
  assert.match(renderToString(h(PresentedPlan, { id: 'p', argsText })), '<strong>later</strong>')
  assert.is(renderToString(h(PresentedPlan, { id: 'p', argsText: '{"pl' })), '')
})

test('/plan switches plan mode of the chat; with a task it turns it on and sends the task', async () => {
  const calls: unknown[] = []
  let mode = 'normal'
  const app = {
    chat: {
      transcript: { sessionId: { value: 's' } },
      choices: { ensureSession: async () => 's', importIfHostSession: async () => undefined },
      turns: { sendText: async (text: string) => calls.push(text) },
    },
    sessions: { row: () => ({ mode }) },
    shell: {
      api: async (path: string, body: { mode: string }) => {
        calls.push([path, body])
        mode = body.mode
      },
    },
  } as unknown as App
  assert.match((await planCommand(app, '')) ?? '', 'Plan mode on')
  assert.match((await planCommand(app, '')) ?? '', 'Plan mode off')
  await planCommand(app, 'add a page')
  const set = (to: string) => ['POST /api/session/mode', { session_id: 's', mode: to }]
  assert.equal(calls, [set('plan'), set('normal'), set('plan'), 'add a page'])
})

test.run()
