/** Front matter of SKILL.md: invalid, partly readable and valid. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  agentMetadata,
  descriptionOf,
  MAX_DESCRIPTION_CHARS,
  parseFrontMatter,
  listOfTexts,
} from '../../../../lib/profiles/skills/front-matter.ts'

const test = suite('front matter')

test('text without front matter is the body', () => {
  const { values, body, problem } = parseFrontMatter('# Title\n\nText')
  assert.equal([values, body], [{}, '# Title\n\nText'])
  assert.match(`${problem}`, 'does not begin with front matter')
})

test('a list instead of a mapping is reported', () => {
  const { values, problem } = parseFrontMatter('---\n- a\n---\nText')
  assert.equal(values, {})
  assert.match(`${problem}`, 'not a list of keys and values')
})

test('invalid YAML is read line by line', () => {
  const { values, problem } = parseFrontMatter('---\nname: a\ndescription: "b: c\nx: [\n---\nText')
  assert.is(values.name, 'a')
  assert.match(`${problem}`, 'cannot be read')
})

test('byte order marks and Windows line endings are accepted', () => {
  const { values, body, problem } = parseFrontMatter('\uFEFF---\r\nname: a\r\n---\r\nText\r\n')
  assert.equal([{ ...values }, body, problem], [{ name: 'a' }, 'Text\n', null])
})

test('a list may be a string with commas and brackets', () => {
  assert.equal(listOfTexts(7), ['7'])
  assert.equal(listOfTexts({}), [])
  assert.equal(listOfTexts('[a, "b", ]'), ['a', 'b'])
  assert.equal(listOfTexts(['a', 7, null]), ['a', '7'])
})

test('the description is the field, else the first line of text, and is cut', () => {
  const of = (text: string) => descriptionOf(parseFrontMatter(text))
  assert.is(of('---\ndescription: One\n  two\n---\nText'), 'One two')
  assert.is(of('# Title\n\nFirst line\nSecond'), 'First line')
  assert.is(of('x'.repeat(2_000)).length, MAX_DESCRIPTION_CHARS)
})

test('metadata of the agent is an object or empty', () => {
  assert.equal(agentMetadata({ metadata: [] }), {})
  assert.equal(agentMetadata({ metadata: { agent: 'x', hermes: { a: 1 } } }), { a: 1 })
})

test.run()
