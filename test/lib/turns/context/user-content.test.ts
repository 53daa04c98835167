/** How a message of the person's is put to the model, and that it stays so: pure. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  replaySent,
  annotateMessage,
  modelText,
} from '../../../../lib/turns/context/user-content.ts'

const test = suite('user content')

const DAY = 86_400_000
const telling = {
  workspace: '/w',
  at: 10 * DAY,
  createdAt: 10 * DAY,
  zone: 'UTC',
  expand: (text: string) => (text.startsWith('/') ? `SKILL ${text}` : text),
}

test('adds the workspace, and the date on a later day', () => {
  assert.equal(annotateMessage('hi', telling), { before: '[Workspace: /w]\n' })
  const later = annotateMessage('hi', { ...telling, at: 11 * DAY })
  assert.is(modelText('hi', later), '[Workspace: /w]\n[Date: 1970-01-12]\nhi')
})

test('a skill keeps the text it had when it was called', () => {
  const how = annotateMessage('/do it', telling)
  assert.equal(how, { before: '[Workspace: /w]\n', text: 'SKILL /do it' })
  const history = [{ id: 'm2', role: 'user' as const, content: '/do it' }]
  const [message] = replaySent(history, [{ id: 'm2', ...how }], () => 'OTHER')
  assert.is(message?.content, '[Workspace: /w]\nSKILL /do it')
})

test('changes user messages only; messages without a record are sent as written', () => {
  const summary = { from: 'm1', to: 'm2', text: 's' }
  const history = [
    { id: 'm2', role: 'user' as const, content: 'sum', summary },
    { id: 'm3', role: 'user' as const, content: 'old' },
    { id: 'm4', role: 'assistant' as const, content: '/x' },
    { id: 'm5', role: 'user' as const, content: [{ type: 'text', text: 'part' }] },
  ]
  const sent = ['m2', 'm4', 'm5'].map(id => ({ id, before: 'TAG ' }))
  assert.equal(replaySent(history, sent, telling.expand), history)
})

test.run()
