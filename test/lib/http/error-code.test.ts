/** Error replies over HTTP carry a stable code; the union of codes has no duplicates. */
import { globSync, readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { conflict, forbidden, invalid, missing, unavailable } from '../../../lib/errors.ts'
import { toErrorReply } from '../../../lib/http/error-reply.ts'
import { ERROR_CODES } from '../../../lib/schema/error-code.ts'
import { TEXTS } from '../../../public/strings/error-codes.ts'
import { errorText } from '../../../public/strings/server-text.ts'
import { startApp } from '../../_app.ts'

const test = suite('error codes')

test('derives the code from the kind, and a specific code replaces it', () => {
  for (const [error, status, code] of [
    [invalid('a'), 400, 'invalid_request'],
    [forbidden('a'), 403, 'forbidden'],
    [missing('a'), 404, 'not_found'],
    [missing('a', { code: 'session_not_found' }), 404, 'session_not_found'],
    [conflict('a'), 409, 'conflict'],
    [unavailable('a'), 503, 'unavailable'],
    [new TypeError('secret'), 500, 'internal_error'],
    [Object.assign(new Error('secret'), { code: 'ENOSPC' }), 507, 'disk_full'],
  ] as const) {
    const reply = toErrorReply(error)
    assert.equal([reply.status, reply.body.code], [status, code])
    assert.not.match(reply.body.error, 'secret')
  }
})

test('the code is a key of its own and no part of the extra keys', () => {
  const error = conflict('a', { code: 'session_busy', active_stream_id: 'x' })
  assert.equal(error.extra, { active_stream_id: 'x' })
  assert.equal(toErrorReply(error).body, {
    error: 'a',
    code: 'session_busy',
    active_stream_id: 'x',
  })
})

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

test('rejections over HTTP carry their code', async () => {
  const app = await startApp()
  try {
    const cases: [path: string, body: Record<string, unknown>, code: string][] = [
      ['/api/nothing', {}, 'not_found'],
      ['/api/session/rename', {}, 'missing_fields'],
      ['/api/session/rename', { session_id: 'a', title: 5 }, 'invalid_request'],
      ['/api/session/rename', { session_id: 'a', title: 'b' }, 'session_not_found'],
      ['/api/chat/steer', { session_id: 'a', message: 'b' }, 'session_not_found'],
      ['/api/profile/switch', { name: 'nobody' }, 'profile_not_found'],
      ['/api/projects/delete', { project_id: 'a' }, 'project_not_found'],
      ['/api/crons/delete', { job_id: 'a' }, 'job_not_found'],
    ]
    for (const [path, body, code] of cases) {
      const { status, body: reply } = await app.post(path, body)
      assert.ok(status >= 400, path)
      assert.equal([path, reply.code], [path, code])
      assert.type(reply.error, 'string')
    }
  } finally {
    await app.close()
  }
})

test.run()
