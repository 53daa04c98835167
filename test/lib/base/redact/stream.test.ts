/** Text in pieces: what is sent is what the whole text would have been, and no piece of it shows more of a secret than its mask. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createStreamRedactor, redact, watchSecrets } from '../../../../lib/base/redact/redact.ts'
import { KNOWN, SHAPED } from './_secrets.ts'

const test = suite('redacted stream')
const runs = process.env.PROOF === 'full' ? 40 : 4

/** A small generator with a seed, so that a failure can be repeated. */
const createRandom = (seed: number) => {
  let state = seed >>> 0
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const FILLERS = [
  ...['The file says ', '\n', ' ', '"', '{"a": "', "'\\n", 'KEY=', 'the token is: ', '\t', '-----'],
  ...[
    'http://localhost:8080/x ',
    'sk-',
    'skip ',
    'const a = 1;\n',
    '\u001b[31m',
    'é😀',
    '\\n',
    'eyJ',
  ],
  ...[
    'Authorization: ',
    'password = ',
    '🏳️‍🌈',
    '; rm -rf x',
    '$(echo)',
    'AKIA',
    '::',
    '==',
    '0x1f ',
  ],
]

const sent = (pieces: readonly string[]): { soFar: string[]; all: string } => {
  const stream = createStreamRedactor()
  const soFar: string[] = []
  let all = ''
  for (const piece of pieces) {
    all += stream.push(piece)
    soFar.push(all)
  }
  all += stream.end()
  soFar.push(all)
  return { soFar, all }
}

/** What a mask shows of a secret at its beginning. */
const MOST_SHOWN = 6

const check = (secret: string, text: string, pieces: readonly string[]) => {
  const { soFar, all } = sent(pieces)
  const about = () => JSON.stringify({ secret, pieces, all, wanted: redact(text) })
  assert.is(all, redact(text), about())
  const shown = secret.slice(0, MOST_SHOWN + 1)
  if (!redact(text).includes(shown))
    for (const state of soFar) assert.not.ok(state.includes(shown), about())
}

const eachSecret = (work: (secret: string, random: (below: number) => number) => void) => {
  const stop = watchSecrets(() => KNOWN)
  try {
    for (const [index, secret] of [...KNOWN, ...SHAPED].entries()) {
      assert.is.not(redact(` ${secret} `), ` ${secret} `, `not hidden at all: ${secret}`)
      work(secret, createRandom(index + 1))
    }
  } finally {
    stop()
  }
}

const around = (random: (below: number) => number): string =>
  Array.from({ length: random(6) }, () => FILLERS[random(FILLERS.length)]).join('')

test('split in two at every position', () => {
  eachSecret((secret, random) => {
    const before = `${around(random)} `
    const text = `${before}${secret} ${around(random)}`
    const end = Math.min(text.length, before.length + Math.min(secret.length, 400) + 2)
    for (let at = Math.max(0, before.length - 2); at <= end; at++)
      check(secret, text, [text.slice(0, at), text.slice(at)])
  })
})

test('character by character', () => {
  eachSecret((secret, random) => {
    const text = `${around(random)} ${secret}\n${around(random)}`
    check(secret, text, text.split(''))
  })
})

test('split at random positions, with many secrets in one text', () => {
  const all = [...KNOWN, ...SHAPED]
  eachSecret((secret, random) => {
    for (let run = 0; run < runs; run++) {
      const others = Array.from(
        { length: random(4) },
        () => `${around(random)} ${all[random(all.length)]}${around(random)}`,
      ).join('')
      const text = `${around(random)} ${secret}${around(random)}${others}`
      const pieces: string[] = []
      for (let at = 0; at < text.length; ) {
        const size = 1 + random(12)
        pieces.push(text.slice(at, at + size))
        at += size
      }
      check(secret, text, pieces)
    }
  })
})

test('holds back at most one word of ordinary text', () => {
  const stop = watchSecrets(() => KNOWN)
  const stream = createStreamRedactor()
  let given = ''
  let all = ''
  for (const word of 'Here is how the parser reads the tokens of one line, then the next one. '
    .repeat(40)
    .split(/(?<= )/)) {
    given += word
    all += stream.push(word)
    assert.ok(given.length - all.length < 12, `kept back: ${given.slice(all.length)}`)
  }
  stop()
})

test('redacts a secret from the moment it becomes known', () => {
  const stream = createStreamRedactor()
  let all = stream.push('first ')
  const stop = watchSecrets(() => KNOWN)
  all += stream.push(`then ${KNOWN[0]} end`) + stream.end()
  stop()
  assert.not.match(all, KNOWN[0] as string)
  assert.match(all, /^first then .* end$/)
})

test.run()
