/** One line per event, whatever a caller sends. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createLog } from '../../lib/log.ts'
import { until } from '../_wait.ts'

const make = () => {
  const out: string[] = []
  const err: string[] = []
  const redact = (text: string) => text.replaceAll('sk-123', '***')
  return {
    out,
    err,
    log: createLog({ out: text => out.push(text), err: text => err.push(text), redact }),
  }
}

const test = suite('log')

test('a line break in foreign text does not start a new line', () => {
  const { out, err, log } = make()
  log.request('GET', '/a\n[webui] forged\u2028"', 200, 1)
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
  log.request('GET', '/api/x', 200, 1.26)
  log.request('POST', `/${'x'.repeat(10_000)}`, 404, 0)
  assert.is(out.length, 0)
  await until(() => out.length > 0)
  assert.is(out.length, 1)
  const [first = '', second = ''] = out[0]!.split('\n')
  const { ts, ...rest } = JSON.parse(first.slice('[webui] '.length))
  assert.match(ts, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  assert.equal(rest, { method: 'GET', path: '/api/x', status: 200, ms: 1.3 })
  assert.ok(second.length < 2_200)
})

test('errors are written at once, in order, without secrets', () => {
  const { out, err, log } = make()
  log.info('before')
  log.error('call failed', new Error('key sk-123'))
  log.warn('careful', { n: 1 })
  log.error('odd', 'sk-123')
  assert.is(out.length, 1)
  assert.match(err[0] ?? '', /error: call failed: Error: key \*\*\* ⏎ {5}at /)
  assert.match(err[1] ?? '', /warning: careful {"n":1}\n$/)
  assert.match(err[2] ?? '', /error: odd: \*\*\*\n$/)
})

test.run()
