/** Personalities: which names are known, what they say, and how much of it. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { UserError } from '../../../lib/errors.ts'
import {
  personalityPrompt,
  listPersonalities,
  PERSONALITY_MAX_BYTES,
  promptOf,
  requirePersonality,
} from '../../../lib/profiles/personalities.ts'

const test = suite('personalities')

const config = {
  personalities: { old: 'From the root.', pirate: 'Shadowed.' },
  agent: {
    personalities: {
      pirate: 'Arr.',
      Teacher_2: {
        description: 'Patient',
        system_prompt: 'Explain.',
        tone: 'warm',
        style: 'short',
      },
      other: { prompt: 'Other key.', tone: '  ' },
      'not a name': 'x',
      empty: '   ',
      hollow: { description: 'nothing' },
      odd: ['x'],
      long: 'ä'.repeat(PERSONALITY_MAX_BYTES / 2 + 1),
      most: 'ä'.repeat(PERSONALITY_MAX_BYTES / 2),
    },
  },
}

const REFUSED: [name: string, kind: string][] = [
  ['', 'invalid'],
  ['-a', 'invalid'],
  ['a b', 'invalid'],
  ['../x', 'invalid'],
  ['pirate\n', 'invalid'],
  ['x'.repeat(65), 'invalid'],
  ['ä', 'invalid'],
  ['Pirate', 'missing'],
  ['constructor', 'missing'],
  ['__proto__', 'invalid'],
  ['empty', 'invalid'],
  ['hollow', 'invalid'],
  ['odd', 'invalid'],
  ['long', 'invalid'],
]
for (const [name, kind] of REFUSED) {
  test(`rejects ${JSON.stringify(name).slice(0, 20)} as ${kind}`, () =>
    assert.throws(
      () => requirePersonality(config, name),
      (error: unknown) => error instanceof UserError && error.kind === kind,
    ))
}

test('accepts a string, an object, and what an older file has', () => {
  assert.is(requirePersonality(config, 'pirate'), 'Arr.')
  assert.is(requirePersonality(config, 'old'), 'From the root.')
  assert.is(requirePersonality(config, 'Teacher_2'), 'Explain.\nTone: warm\nStyle: short')
  assert.is(requirePersonality(config, 'other'), 'Other key.')
  assert.is(requirePersonality(config, 'most').length, PERSONALITY_MAX_BYTES / 2)
  assert.is(promptOf(null), '')
  assert.is(promptOf(5), '')
})

test('the list shows the description or the first words', () => {
  const list = new Map(
    listPersonalities(config).map(({ name, description }) => [name, description]),
  )
  assert.is(list.size, 10)
  assert.is(list.get('pirate'), 'Arr.')
  assert.is(list.get('Teacher_2'), 'Patient')
  assert.is(list.get('other'), '')
  assert.is(list.get('long'), `${'ä'.repeat(80)}...`)
  for (const odd of [
    {},
    { agent: 5 },
    { agent: { personalities: ['a'] } },
    { personalities: null },
  ])
    assert.equal(listPersonalities(odd), [])
})

test('a turn uses the current prompt, or none', () => {
  assert.is(personalityPrompt(config, 'pirate'), 'Arr.')
  for (const name of [null, undefined, '', 'gone', 'empty', 'long'])
    assert.is(personalityPrompt(config, name), null)
})

test.run()
