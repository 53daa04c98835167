/** Generated rules and calls, decided by an independent and simple model of the documented semantics. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { join } from 'node:path'
import { createRandom } from '../../../_random.ts'
import { createPlace } from './_place.ts'

const { commandCall, isAllowed, pathCall, removePlace, verdictOf, workspace } = createPlace()

const oracle = suite('permission rules against a simple model')
oracle.after(removePlace)

const NAMES = ['a', 'b', 'ab', 'c.ts']
const GLOBS = ['a', 'b', '*', 'a*', '*.ts', '?', '**']
const ROUNDS = 1_200

/** As the documentation says it: segment by segment, `**` for any number, and below a match everything. */
const pathMatches = (pattern: readonly string[], path: readonly string[]): boolean => {
  const [first, ...rest] = pattern
  if (first === undefined) return true
  if (first === '**')
    return path.some((_, at) => pathMatches(rest, path.slice(at))) || pathMatches(rest, [])
  const [name, ...below] = path
  if (name === undefined) return false
  const source = first.replaceAll('.', '\\.').replaceAll('*', '.*').replaceAll('?', '.')
  return new RegExp(`^${source}$`).test(name) && pathMatches(rest, below)
}

oracle('paths: deny, ask, and allow agree with the model', () => {
  const random = createRandom(12)
  for (let round = 0; round < ROUNDS; round++) {
    const pattern = Array.from({ length: 2 + random.below(3) }, () => random.pick(GLOBS))
    const path = Array.from({ length: 1 + random.below(5) }, () => random.pick(NAMES))
    const rule = `edit(./top/${pattern.join('/')})`
    const wanted = pathMatches(pattern, path)
    const call = pathCall('write', join(workspace, 'top', ...path))
    const seen = [
      verdictOf({ deny: [rule] }, call) === 'deny',
      verdictOf({ ask: [rule] }, call) === 'ask',
    ]
    assert.equal(seen, [wanted, wanted], `${rule} for ${path.join('/')}`)
    assert.is(verdictOf({ deny: [rule.replace('edit', 'read')] }, call), 'none')
  }
})

const WORDS = ['tool', 'run', 'x', 'go', 'x=1']

/** A pattern of words; `*` at the end stands for any arguments, elsewhere for one or more words. */
const wordsMatch = (pattern: readonly string[], words: readonly string[]): boolean => {
  const source = pattern.map(word => (word === '*' ? '.*' : word)).join(' ')
  const text = words.join(' ')
  return (
    new RegExp(`^${source}$`).test(text) ||
    (pattern.at(-1) === '*' && new RegExp(`^${source.slice(0, -3)}$`).test(text))
  )
}

oracle('commands: deny matches if any part does, allow only if every part does', () => {
  const random = createRandom(7)
  const some = (from: readonly string[], count: number) =>
    Array.from({ length: count }, () => random.pick(from))
  for (let round = 0; round < ROUNDS / 6; round++) {
    const parts = Array.from({ length: 1 + random.below(3) }, () => [
      'zz-tool',
      ...some(WORDS, random.below(3)),
    ])
    const patterns = Array.from({ length: 1 + random.below(2) }, () => [
      'zz-tool',
      ...some([...WORDS, '*'], random.below(3)),
    ])
    const command = parts
      .map(words => words.join(' '))
      .join(random.pick([' && ', '; ', ' | ', '\n']))
    const rules = patterns.map(words => `bash(${words.join(' ')})`)
    const hits = parts.map(words => patterns.some(pattern => wordsMatch(pattern, words)))
    const shown = `${rules.join(' ')} for ${command}`
    const verdict = verdictOf({ deny: rules }, commandCall(command))
    // The text as a whole counts, too.
    const isWholeHit = patterns.some(pattern => wordsMatch(pattern, command.split(/\s+/)))
    assert.is(verdict === 'deny', hits.includes(true) || isWholeHit, `deny ${shown}`)
    assert.is(isAllowed({ allow: rules }, command), hits.every(Boolean), `allow ${shown}`)
  }
})

oracle.run()
