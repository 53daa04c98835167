/** Diffs: malformed headers and truncated text first, then line numbers and word marks. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compareWords, diffOfEdit, parseDiff } from '../../public/parts/diff.ts'
import { looksFailed, parseResult } from '../../public/features/tool-calls/tool-result.ts'

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

diff('results: JSON, cut JSON, text', () => {
  assert.is(parseResult('').body.kind, 'nothing')
  assert.is(parseResult('{').body.kind, 'text')
  assert.is(parseResult('Error: no such tool').failed, true)
  assert.is(parseResult('{"success":false,"error":"nope"}').error, 'nope')
  const run = parseResult('{"output":"a\\nb","exit_code":2}')
  assert.equal([run.failed, run.exitCode, run.body], [true, 2, { kind: 'output', text: 'a\nb' }])
  const moved = parseResult(
    '{"output":"a","session_id":"proc_1","pid":7,"exit_code":null,"error":null}',
  )
  assert.equal([moved.failed, moved.isInBackground, run.isInBackground], [false, true, false])
  const cut = parseResult('{"exit_code":0,"output":"line one\\nline tw\\u00')
  assert.equal(cut.body, { kind: 'output', text: 'line one\nline tw' })
  assert.is(parseResult(JSON.stringify({ success: true, diff: sample })).body.kind, 'diff')
  assert.is(parseResult('{"todos":[{"content":"x","status":"odd"}]}').body.kind, 'todo')
  assert.is(
    parseResult('{"matches":[{"path":"a","line":1},null,3],"total_count":9}').body.kind,
    'matches',
  )
})

diff('failure is seen without parsing', () => {
  assert.is(looksFailed('{"output":"x","exit_code":1}'), true)
  assert.is(looksFailed('{"output":"x","exit_code":0}'), false)
  assert.is(looksFailed('{"success":false,"error":"x"}'), true)
  assert.is(looksFailed('{"success": true}'), false)
})

diff.run()
