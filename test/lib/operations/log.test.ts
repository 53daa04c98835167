/** One line per event, whatever a caller sends. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { watchSecrets } from '../../../lib/base/redact/redact.ts'
import { withinRequest } from '../../../lib/base/request-scope.ts'
import { createLog } from '../../../lib/operations/log.ts'
import type { LogLevel, LogSettings } from '../../../lib/schema/log-settings.ts'
import { until } from '../../_wait.ts'

const known = ['Kq83hfLmz0']
watchSecrets(() => known)

const make = (settings: Partial<LogSettings> = {}) => {
  const out: string[] = []
  const err: string[] = []
  return {
    out,
    err,
    log: createLog({
      ...settings,
      out: text => out.push(text),
      err: text => err.push(text),
    }),
  }
}

const test = suite('log')

test('a line break in foreign text does not start a new line', () => {
  const { out, err, log } = make()
  log.request({ method: 'GET', path: '/a\n[webui] forged\u2028"', status: 200, ms: 1 })
  log.info('one\ntwo\r\n\0three', { a: 'x\ny' })
  log.error('bad\n[webui] forged', new Error('x\ny'))
  log.close()
  for (const text of [
    ...out.join('').split('\n').slice(0, -1),
    ...err.join('').split('\n').slice(0, -1),
  ])
    assert.match(text, /^\[webui\] /)
  assert.is(out.join('').split('\n').length, 3)
})

test('request lines are JSON, joined, and of bounded length', async () => {
  const { out, log } = make()
  log.request({ method: 'GET', path: '/api/x', status: 200, ms: 1.26 })
  log.request({ method: 'POST', path: `/${'x'.repeat(10_000)}`, status: 404, ms: 0 })
  assert.is(out.length, 0)
  await until(() => out.length > 0)
  assert.is(out.length, 1)
  const [first = '', second = ''] = out[0]!.split('\n')
  const { ts, ...rest } = JSON.parse(first.slice('[webui] '.length))
  assert.match(ts, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  assert.equal(rest, { method: 'GET', path: '/api/x', status: 200, ms: 1.3 })
  assert.ok(second.length < 2_200)
})

test('a cell of a worker has its name in every line, of either format', () => {
  const text = make({ cell: 'anna' })
  text.log.info('begun')
  text.log.request({ method: 'GET', path: '/api/x', status: 200, ms: 1 })
  text.log.warn('odd')
  text.log.close()
  const lines = [...text.out, ...text.err].join('').trim().split('\n')
  assert.equal(
    lines.map(line => line.startsWith('[webui anna] ')),
    [true, true, true],
  )
  const json = make({ cell: 'anna', format: 'json' })
  json.log.info('begun')
  json.log.request({ method: 'GET', path: '/api/x', status: 200, ms: 1 })
  json.log.error('odd')
  json.log.close()
  const objects = [...json.out, ...json.err].join('').trim().split('\n')
  assert.equal(
    objects.map(line => JSON.parse(line).cell),
    ['anna', 'anna', 'anna'],
  )
})

test('errors are written at once, in order, without secrets', () => {
  const { out, err, log } = make()
  log.info('before')
  log.error('call failed', new Error('key Kq83hfLmz0'))
  log.warn('careful', { n: 1 })
  log.error('odd', 'Kq83hfLmz0')
  assert.is(out.length, 1)
  assert.match(err[0] ?? '', /error: call failed: Error: key \*\*\* ⏎ {5}at /)
  assert.match(err[1] ?? '', /warning: careful {"n":1}\n$/)
  assert.match(err[2] ?? '', /error: odd: \*\*\*\n$/)
})

test('a batch that is longer than its buffer is written in order, whole, also with letters of several bytes', () => {
  const { out, log } = make()
  const texts = ['first', 'ü€😀'.repeat(20_000), 'x'.repeat(40_000), 'y'.repeat(40_000), 'last']
  for (const text of texts) log.info(text)
  log.close()
  const lines = out.join('').split('\n')
  assert.equal(
    texts.map((text, at) => lines[at]?.endsWith(`info: ${text}`)),
    texts.map(() => true),
  )
  assert.is(lines.length, texts.length + 1)
})

/** A new line, a terminal's escape sequence, C1, and characters that are invisible or turn text around. */
const HOSTILE = 'a\n[webui] forged\r\n\x1b[2J\x9b31m\u202egpj\u2028\u200bz\u2066"'

test('no input can start a line, move the cursor, or turn text around, in both formats', () => {
  for (const format of ['text', 'json'] as const) {
    const { out, err, log } = make({ format })
    log.request({ method: HOSTILE, path: HOSTILE, status: 404, ms: 1 })
    withinRequest({ id: 'r-1', traceparent: undefined }, () => log.info(HOSTILE, { a: HOSTILE }))
    log.warn(HOSTILE, [HOSTILE])
    log.error(HOSTILE, new Error(HOSTILE))
    log.close()
    const lines = [...out, ...err].join('').split('\n')
    assert.is(lines.pop(), '')
    assert.is(lines.length, 4)
    for (const line of lines) {
      assert.match(line, /^[\x20-\x7e⏎]*$/)
      if (format === 'json') assert.type(JSON.parse(line).ts, 'string')
      else assert.ok(line.startsWith('[webui] '))
    }
  }
})

test('JSON: every line has time and level, and that of a request has its id', () => {
  const { out, err, log } = make({ format: 'json' })
  withinRequest({ id: 'r-7', traceparent: undefined }, () => {
    log.request({ method: 'GET', path: '/api/x/Kq83hfLmz0', status: 200, ms: 1.26 })
    log.warn('key Kq83hfLmz0', { key: 'Kq83hfLmz0' })
  })
  log.error('odd', { session_id: 's' })
  log.close()
  const lines = [...out, ...err].map(line => {
    const { ts, ...rest } = JSON.parse(line)
    assert.match(ts, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    return rest
  })
  assert.equal(lines, [
    { level: 'info', method: 'GET', path: '/api/x/***', status: 200, ms: 1.3, request_id: 'r-7' },
    { level: 'warn', message: 'key ***', request_id: 'r-7', data: { key: '***' } },
    { level: 'error', message: 'odd', data: { session_id: 's' } },
  ])
})

test('the level decides what is written; checks of health are written at debug, or when they fail', () => {
  const count = (level: LogLevel) => {
    const { out, err, log } = make({ level })
    const check = { method: 'GET', path: '/health', ms: 1, isQuiet: true }
    log.request({ ...check, status: 200 })
    log.request({ ...check, status: 503 })
    log.request({ ...check, path: '/metrics', status: 401 })
    log.request({ ...check, isQuiet: false, status: 200 })
    log.debug('d')
    log.info('i')
    log.warn('w')
    log.error('e')
    log.close()
    return [...out, ...err].join('').split('\n').length - 1
  }
  assert.equal((['error', 'warn', 'info', 'debug'] as const).map(count), [1, 2, 6, 8])
})

test.run()
