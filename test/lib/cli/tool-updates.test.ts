/** Results of tools as an editor shows them: their text, nothing where there is none, JSON only of what has no text. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readResult } from '../../../lib/cli/acp/tool-updates.ts'

const test = suite('tool results for editors')

const CASES: [result: unknown, text: string, isError: boolean][] = [
  [{ output: 'hi\n', exit_code: 0, error: null }, 'hi\n', false],
  [{ output: '', exit_code: 0, error: null }, '', false],
  [{ output: '', exit_code: 3, error: null }, 'Exit code 3', false],
  [
    { output: '', exit_code: null, error: 'It was ended by SIGKILL.' },
    'It was ended by SIGKILL.',
    true,
  ],
  [{ output: 'half', exit_code: 1, error: 'cut' }, 'half\ncut', true],
  [{ output: '' }, '', false],
  [{ content: '' }, '', false],
  [{ content: 'text' }, 'text', false],
  [{ error: '' }, '', false],
  [{ todos: [] }, '{"todos":[]}', false],
  [{ success: true, error: null }, '{"success":true,"error":null}', false],
  [[1], '[1]', false],
  [7, '7', false],
]
for (const [result, text, isError] of CASES)
  test(`shows ${JSON.stringify(result)}`, () => {
    const found = readResult(JSON.stringify(result))
    assert.equal([found.text, found.isError], [text, isError])
  })

test('plain text is shown as it is', () => {
  assert.is(readResult('{half').text, '{half')
  assert.is(readResult('').text, '')
})

test.run()
