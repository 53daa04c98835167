/** What a line of .env means. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseEnv } from '../../../lib/profiles/env-file.ts'

const test = suite('env file')

const CASES: [line: string, values: Record<string, string>][] = [
  ['', {}],
  ['# A=1', {}],
  ['   # A=1', {}],
  ['no equals sign', {}],
  ['=value', {}],
  ['1A=x', {}],
  ['A-B=x', {}],
  ['__proto__ x=1', {}],
  ['A=1', { A: '1' }],
  ['  A = 1  ', { A: '1' }],
  ['A=', { A: '' }],
  ['A=b=c==', { A: 'b=c==' }],
  ['A="quoted text"', { A: 'quoted text' }],
  ["A='single'", { A: 'single' }],
  [`A="'both'"`, { A: 'both' }],
  ['A="', { A: '"' }],
  ['A="open', { A: '"open' }],
  ['A=a#b # c', { A: 'a#b # c' }],
  ['export A=1', { A: '1' }],
  ['export\tA=1', { A: '1' }],
  ['exportA=1', { exportA: '1' }],
  ['A=1\r\nB=2\rC=3\nA=4', { A: '4', B: '2', C: '3' }],
  ['ÄÖ=1', {}],
  ['A=ünï 🙂', { A: 'ünï 🙂' }],
]

for (const [line, values] of CASES)
  test(`reads ${JSON.stringify(line)}`, () => assert.equal(parseEnv(line), values))

test('no line reaches a prototype', () => {
  const values = parseEnv('__proto__=x\nconstructor=y')
  assert.is(Object.getPrototypeOf(values), Object.prototype)
  assert.is(({} as Record<string, unknown>).x, undefined)
})

test.run()
