/** Fuzzy matching: what matches, the order, and the marked letters. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { fuzzyMatches } from '../../../lib/base/fuzzy.ts'

const test = suite('base/fuzzy')

/** The matching texts in order, with the matched letters in brackets. */
const show = (texts: readonly string[], query: string): string[] =>
  fuzzyMatches(texts, query).map(({ at, ranges }) => {
    let out = ''
    let from = 0
    for (let index = 0; index < ranges.length; index += 2) {
      const [start = 0, end = 0] = ranges.slice(index)
      out += `${texts[at]!.slice(from, start)}[${texts[at]!.slice(start, end)}]`
      from = end
    }
    return out + texts[at]!.slice(from)
  })

test('a query without letters and digits matches nothing', () => {
  for (const query of ['', '  ', '"', '*', '/', '.*', '\\', '('])
    assert.equal(fuzzyMatches(['a', 'b(c)', '.*'], query), [], query)
})

test('words match in any order, with letters left out, in every script', () => {
  assert.equal(show(['Fix the retry logic', 'Retry'], 'retry'), [
    '[Retry]',
    'Fix the [retry] logic',
  ])
  assert.equal(show(['Fix the retry logic'], 'logic fix'), ['[Fix] the retry [logic]'])
  assert.equal(show(['settings.ts', 'other.ts'], 'stng').length, 1)
  assert.equal(show(['Обзор задач', 'План'], 'задач'), ['Обзор [задач]'])
  assert.equal(show(['東京の計画'], '計画'), ['東京の[計画]'])
  assert.equal(show(['plain'], 'plainer'), [])
})

test('more words than are tried in any order are found as well: those in the typed order first', () => {
  const paths = [
    'a/old/src/deep/index.ts',
    'src/deep/retry-policy.ts',
    'src/deep/retry-policy.test.ts',
  ]
  assert.equal(show(paths, 'src/deep/retry-policy.ts')[0], '[src]/[deep]/[retry]-[policy].[ts]')
  assert.equal(show(['Sign out all other devices', 'Sign out'], 'all devices sign out other'), [
    'Sign out all other devices',
  ])
  assert.equal(show(['one two three'], 'one two three four five'), [])
})

test('100,000 paths are searched, also for a hostile query', () => {
  const texts = Array.from({ length: 100_000 }, (_, n) => `src/part${n % 100}/module-${n}/index.ts`)
  assert.ok(fuzzyMatches(texts, 'part7 module').length > 0)
  fuzzyMatches(texts, 'a'.repeat(5_000))
  fuzzyMatches(texts, 'i x e d '.repeat(100))
})

test.run()
