/** Comments on diffs: which lines they name, their text in a message, and the draft. */
import { signal } from '@preact/signals'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type DiffComment, splitComments, withComments } from '../../../lib/base/comment-text.ts'
import { messageOf } from '../../../lib/base/draft-message.ts'
import { Composer } from '../../../public/features/composer/composer.ts'
import { withoutFiles } from '../../../public/features/messages/message-text.ts'
import {
  changedRange,
  hunksOf,
  numbersOf,
  toComment,
} from '../../../public/features/review/hunks.ts'
import { createRandom, oddTexts } from '../../_random.ts'
import { fakePlatform, settle } from '../_page.ts'

const test = suite('page: comments on diffs')

const DIFF = `--- a/src/a.ts
+++ b/src/a.ts
@@ -1,3 +1,3 @@
 one
-two\r
+TWO\r
 three
@@ -20,4 +20,3 @@ function x() {
 twenty
-@@ gone @@
 -- not a header
 last
\\ No newline at end of file
`

test('each hunk has its header and its lines; lines that look like headers are lines', () => {
  const hunks = hunksOf(DIFF)
  assert.equal(
    hunks.map(({ header, file }) => [header, file.path, file.lines.length]),
    [
      ['@@ -1,3 +1,3 @@', 'src/a.ts', 4],
      ['@@ -20,4 +20,3 @@', 'src/a.ts', 5],
    ],
  )
  assert.equal(hunksOf(''), [])
  assert.equal(
    hunksOf('old mode 100644\nnew mode 100755\n').map(({ header, file }) => [
      header,
      file.lines.map(({ kind }) => kind),
    ]),
    [['', ['note', 'note']]],
  )
})

test('a comment names lines after the change, or removed ones, and quotes them without line endings', () => {
  const [first, second] = hunksOf(DIFF)
  const range = changedRange(first!.file)
  assert.equal(range, { from: 1, to: 2 })
  assert.equal(toComment('src/a.ts', first!.file, range, ' Why?\n'), {
    path: 'src/a.ts',
    removed: false,
    from: 2,
    to: 2,
    quote: '-two\n+TWO',
    text: 'Why?',
  })
  const gone = changedRange(second!.file)
  assert.equal(numbersOf(second!.file, gone), { removed: true, from: 21, to: 21 })
  assert.equal(numbersOf(second!.file, { from: 0, to: 3 }), { removed: false, from: 20, to: 22 })
})

const comment = (more: Partial<DiffComment> = {}): DiffComment => ({
  path: 'src/a.ts',
  removed: false,
  from: 12,
  to: 13,
  quote: '-const a = 1\n+const a = 2',
  text: 'Why?\n\nAnd > how?',
  ...more,
})

test('comments are readable text in the message and come back from it', () => {
  const message = messageOf({ text: 'Please look', files: ['b.png'], comments: [comment()] })
  assert.is(
    message,
    `Please look

[Comment on src/a.ts, lines 12-13]
> -const a = 1
> +const a = 2

Why?

And > how?
[End of comment]

[Attached files: b.png]`,
  )
  assert.equal(splitComments(withoutFiles(message)), { text: 'Please look', comments: [comment()] })
  for (const text of ['', '[Comment on x]', 'x\n[End of comment]', '[Comment on a, line 1]\n> x'])
    assert.equal(splitComments(text), { text, comments: [] })
})

test('any text, path, and quote comes back, in time proportional to its length', () => {
  const { pick, below } = createRandom(3)
  const words = [
    ...oddTexts.filter(word => !/[\r\n]/.test(word) && word === word.trim()),
    'x, lines 3-4]',
    '> ',
  ]
  const lines = () => Array.from({ length: 1 + below(4) }, () => pick(words)).join('\n')
  for (let round = 0; round < 300; round++) {
    const comments = Array.from({ length: below(4) }, () =>
      comment({
        path: `p${pick(words)}`,
        removed: below(2) === 0,
        from: 1 + below(3),
        to: 4,
        quote: lines(),
        text: `a\n${lines()}\nz`,
      }),
    )
    const back = splitComments(withComments('text', comments))
    assert.equal(back, { text: 'text', comments })
  }
  const ends = comment({ text: 'a\n[End of comment]\nb' })
  assert.is(splitComments(withComments('', [ends])).comments[0]?.text, 'a\n [End of comment]\nb')
  // Would take minutes if each start were read to the end of the text.
  splitComments(`${'[Comment on a, line 1]\n> x\n\n'.repeat(20_000)}[End of comment]x`)
})

test('comments are part of the draft: saved, applied, sent once, and put back when sending fails', async () => {
  const saved: unknown[] = []
  const fake = fakePlatform({
    'POST /api/session/draft': input => {
      const { client_message_id: _, ...draft } = input
      saved.push(draft)
      return { ok: true, draft: { text: '', files: [] } }
    },
  })
  const composer = new Composer(fake.platform, { key: 's', sessionId: signal('s') })
  composer.applyServerDraft({ text: 'x', files: [], comments: [comment()] })
  assert.is(composer.comments.value.length, 1)
  composer.edit('')
  assert.is(composer.empty.value, false)
  composer.addComment(comment({ text: 'Second' }))
  await composer.save()
  assert.equal(saved.at(-1), {
    session_id: 's',
    text: '',
    files: [],
    comments: [comment(), comment({ text: 'Second' })],
  })
  const draft = composer.takeDraft()
  composer.forget(draft, false)
  await settle()
  assert.is(composer.empty.value, true)
  assert.equal(saved.at(-1), { session_id: 's', text: '', files: [], comments: [] })
  composer.restoreDraft(draft)
  const [kept] = composer.comments.value
  composer.changeComment(kept!, { ...kept!, text: 'Reworded' })
  assert.equal(
    composer.comments.value.map(({ text }) => text),
    ['Reworded', 'Second'],
  )
  composer.changeComment(composer.comments.value[0]!)
  assert.equal(
    composer.comments.value.map(({ text }) => text),
    ['Second'],
  )
  const other = new Composer(fake.platform, { key: 'other', sessionId: signal('other') })
  assert.equal(other.comments.value, [])
})

test.run()
