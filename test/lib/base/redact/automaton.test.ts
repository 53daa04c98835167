/** The search for words: each is found wherever it is and whatever is ignored inside it. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createAutomaton } from '../../../../lib/base/redact/automaton.ts'

const test = suite('redact/automaton')

const WORDS = ['Qz', 'QzX', 'kq83vvmz', 'éü-9', '漢字key', 'a"b-c']

/** What programs put into a word that they wrap or color, as it is and in JSON. */
const GAPS = [
  ...['', ' ', '  ', '\n', '\r\n', '\t', '\n \t'],
  ...['\\n', '\\\\n', '\\r\\n', '\\t', ' \\n'],
  ...['\u001b[31m', '\u001b[0m\n', '\\u001b[31m', '\\u001B[1;2m\\n'],
]

const automaton = createAutomaton(
  WORDS.map(text => ({ text, tag: text, waits: 'never' as const })),
  () => true,
)

const find = (text: string): string[] => {
  const found: string[] = []
  automaton.scan(text, (from, to, word) => found.push(`${word} ${from} ${to}`))
  return found
}

test('words are found in every gap, behind and before any text', () => {
  const missed: string[] = []
  for (const word of WORDS)
    for (let at = 1; at < word.length; at++)
      for (const gap of GAPS)
        for (const before of ['', 'Q', 'The kk of ', 'Q\n'])
          for (const after of ['', 'z', ' and more']) {
            const inside = word.slice(0, at) + gap + word.slice(at)
            const text = before + inside + after
            const expected = `${word} ${before.length} ${before.length + inside.length}`
            if (!find(text).includes(expected)) missed.push(JSON.stringify(text))
          }
  assert.equal(missed, [])
})

test('a run of backslashes that is too long for a gap is read once, and a word at its end is found', () => {
  const word = '\\\\a-Qz9'
  const { scan } = createAutomaton([{ text: word, tag: word, waits: 'never' }], () => true)
  for (const after of ['x', 'u', `u001b[${'1'.repeat(200_000)}`, word.slice(2)]) {
    const found: number[] = []
    // Reading the rest of the run at each of its characters would take minutes.
    const run = '\\'.repeat(1_000_000)
    scan(`${run}${after}`, from => found.push(from))
    assert.equal(found, word.endsWith(after) && after !== 'x' ? [run.length - 2] : [])
  }
})

test('a word that contains a long run of backslashes is prepared in one pass', () => {
  const word = `Q${'\\'.repeat(200_000)}z`
  const { scan } = createAutomaton([{ text: word, tag: word, waits: 'never' }], () => true)
  const found: number[] = []
  scan(`a${word}`, from => found.push(from))
  assert.equal(found, [1])
})

test('text without a word has none, whatever it begins with', () => {
  for (const text of ['', 'Q', 'k', 'kq83vvm', 'kq 83 vv my', 'Q-z', 'kq83vvm-z', '漢-字key'])
    assert.equal(find(text), [], text)
})

test.run()
