/** Codes of errors: each once, and with every value that the page’s text for it names. */
import { globSync, readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ERROR_CODES } from '../../../lib/schema/error-code.ts'
import { TEXTS } from '../../../public/strings/error-codes.ts'
import { errorText } from '../../../public/strings/server-text.ts'

const test = suite('error codes')

test('every code is listed once', () => {
  assert.is(new Set(ERROR_CODES).size, ERROR_CODES.length)
  for (const code of ERROR_CODES) assert.match(code, /^[a-z][a-z_]*$/)
})

test('an error gives every value that the page’s text for its code names', () => {
  const texts = new Map<string, string | null>(Object.entries(TEXTS))
  assert.is(errorText('queue_full', { max: 20 }), 'At most 20 messages can be queued.')
  const wrong: string[] = []
  for (const path of globSync('{lib,handlers}/**/*.ts')) {
    const thrown = /\bcode: '(\w+)'(?:,\s*values: \{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\})?/g
    for (const [, code = '', values = ''] of readFileSync(path, 'utf8').matchAll(thrown)) {
      const given = new Set([...values.matchAll(/(?:^|,)\s*(\w+)/g)].map(([, name]) => name))
      for (const [, name] of (texts.get(code) ?? '').matchAll(/\{(\w+)\}/g))
        if (!given.has(name)) wrong.push(`${path}: ${code} lacks ${name}`)
    }
  }
  assert.ok(texts.size > 150)
  assert.equal(wrong, [])
})

test.run()
