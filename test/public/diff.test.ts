/** Diffs: malformed headers and truncated text first, then line numbers and word marks. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compareWords, diffOfEdit, parseDiff } from '../../public/parts/diff.ts'

const diff = suite('diff')

const sample = `diff --git a/x.ts b/x.ts
index 1..2 100644
--- a/x.ts
+++ b/x.ts
@@ -3,4 +3,5 @@ function
 keep
-const max = 3
+const max = 5
+const min = 1
 end
--- a/gone.ts
+++ /dev/null
@@ -1 +0,0 @@
-bye
`

diff('text that is no diff does not throw', () => {
  for (const text of ['', '\n', '@@ nonsense', '+', '---', '--- a\n', '+++ b\n', '\\ No newline']) {
    assert.type(parseDiff(text).length, 'number')
  }
  for (let end = 0; end <= sample.length; end++) parseDiff(sample.slice(0, end))
})

diff('files, counts and line numbers', () => {
  const files = parseDiff(sample)
  assert.equal(
    files.map(file => [file.path, file.added, file.removed]),
    [
      ['x.ts', 2, 1],
      ['gone.ts', 0, 1],
    ],
  )
  assert.equal(
    files[0]?.lines.map(line => `${line.kind} ${line.number}`),
    ['gap 3', 'same 3', 'removed 4', 'added 4', 'added 5', 'same 6'],
  )
})

diff('a removed line that looks like a header is a line', () => {
  const [file] = parseDiff('--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,1 @@\n--- a comment\n keep\n')
  assert.is(file?.removed, 1)
  assert.is(file?.path, 'x.sql')
})

diff('only what changed inside a line is marked', () => {
  const [old, fresh] = compareWords('const max = 3', 'const max = 5') ?? []
  assert.equal(old, [
    { text: 'const max = ', changed: false },
    { text: '3', changed: true },
  ])
  assert.equal(
    fresh?.filter(mark => mark.changed),
    [{ text: '5', changed: true }],
  )
  assert.is(compareWords('alpha beta', 'gamma delta'), null)
  assert.is(compareWords('x '.repeat(5000), 'y '.repeat(5000)), null)
})

diff('an edit whose tool returned no diff', () => {
  const file = diffOfEdit('a.ts', 'one\ntwo\n', 'one\n2\n')
  assert.equal([file.removed, file.added], [2, 2])
})

diff.run()
