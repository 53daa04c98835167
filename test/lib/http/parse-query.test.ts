/** Queries: the same fields as the platform's parser, without empty ones and repetitions. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseQuery } from '../../../lib/http/parse-input.ts'

const test = suite('queries')

const expected = (text: string): [string, string][] => {
  const found = new Map<string, string>()
  for (const [key, value] of new URLSearchParams(text))
    if (value !== '' && !found.has(key)) found.set(key, value)
  return [...found]
}

test('the fields of any query are those of URLSearchParams', () => {
  const parts = [
    'a',
    'b',
    'a=1',
    'a=2',
    '=',
    '=3',
    'b=',
    'b==4',
    'c=%41',
    'd=x+y',
    '?e=5',
    '%zz=6',
    '',
    '__proto__=7',
    'é=ü',
  ]
  for (const one of parts)
    for (const two of parts)
      for (const three of parts) {
        const text = [one, two, three].join('&')
        assert.equal(Object.entries(parseQuery(text)), expected(text), text)
      }
})

test.run()
