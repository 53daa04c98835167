/** Diagnostics in a result as the page reads them: what is no such field first, then whole results. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseDiagnostics } from '../../public/features/tool-calls/edit-diagnostics.tsx'

const test = suite('diagnostics of a result')

test('text of the edit is no diagnostics', () => {
  for (const content of [
    '',
    '{"diagnostics":7}',
    '{"diagnostics":["cut',
    JSON.stringify({ success: true, diff: '+{"diagnostics":["a.ts:1:1 error: x"]}' }),
  ])
    assert.equal(parseDiagnostics(content), { problems: [], note: '' })
})

test('places, kinds, and the note', () => {
  const content = JSON.stringify({
    bytes_written: 1,
    diagnostics: ['a:b.ts:3:7 error: No "x" [ts 1]', 'c.ts:1:1 warning: y', 'and 3 more'],
    diagnostics_note: 'Off.',
  })
  const found = parseDiagnostics(content)
  assert.equal(found.problems, [
    { path: 'a:b.ts', line: 3, kind: 'error', text: 'No "x" [ts 1]' },
    { path: 'c.ts', line: 1, kind: 'warning', text: 'y' },
    { path: '', line: 0, kind: null, text: 'and 3 more' },
  ])
  assert.is(found.note, 'Off.')
})

test.run()
