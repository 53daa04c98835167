/** The first page: suggestions from facts about the workspace and the chats, and approvals that can be answered there. */
import '../../_jsx.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Approval } from '../../../lib/schema/question.ts'
import type { SessionRow } from '../../../lib/schema/session.ts'
import { isAnswerable } from '../../../public/features/inbox/answerable.ts'
import { type Facts, suggestionsFor } from '../../../public/features/home/suggestions.ts'

const suggestions = suite('suggestions')

const none: Facts = {
  commands: { place: 'computer', outside: 'changes', problem: null },
  empty: false,
  readme: true,
  test_command: null,
  changed_files: null,
  todos: null,
}
const row = (last_turn: SessionRow['last_turn']) =>
  ({ session_id: 's1', title: 'Move the cart', archived: false, last_turn }) as SessionRow
const labels = (facts: Facts | null, rows: SessionRow[] = []) =>
  suggestionsFor(facts, rows).map(({ label, hint }) => `${label} · ${hint}`)

suggestions('nothing is suggested from facts that are unknown', () => {
  assert.equal(labels(null), [])
  assert.equal(labels(none), ['Explain this project · Starting with its README'])
})

suggestions('at most three, an unfinished chat first; facts of zero suggest nothing', () => {
  const facts = { ...none, test_command: 'npm test', changed_files: 1, todos: 2 }
  assert.equal(labels(facts, [row('interrupted')]), [
    'Continue “Move the cart” · Its last answer didn’t finish',
    'Review my changes · 1 uncommitted file',
    'Run the tests · npm test',
  ])
  assert.equal(labels({ ...facts, changed_files: 0, readme: false }, [row('done')]), [
    'Run the tests · npm test',
    'Work through the TODOs · 2 TODOs and FIXMEs',
    'Write a README · There is none yet',
  ])
})

suggestions('an empty directory suggests a new project only', () => {
  assert.equal(labels({ ...none, empty: true, todos: 3 }), [
    'Start something new · This folder is empty',
  ])
})

suggestions('an approval is answered on the first page only when that shows all of it', () => {
  const asked = { kind: 'approval', command: 'rm -rf a', pattern_key: 'recursive delete' }
  const isHere = (more: Partial<Approval>) => isAnswerable({ ...asked, ...more } as Approval)
  assert.equal([isHere({}), isHere({ runs_in: 'sandbox' })], [true, true])
  const reviewed: Partial<Approval>[] = [
    { diff: '+a' },
    { runs_in: 'outside' },
    { pattern_key: 'budget: steps' },
    { command: 'a'.repeat(301) },
    { choices: ['deny'] },
  ]
  for (const more of reviewed) assert.not(isHere(more), JSON.stringify(more))
})

suggestions.run()
