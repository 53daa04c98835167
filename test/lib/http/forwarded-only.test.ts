/** Which requests reach a cell of a worker, and what is believed of them. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ForwardedOnly } from '../../../lib/http/forwarded-only.ts'
import { closeForwarders, listen, send } from './_forwarder.ts'

const test = suite('http/forwarded-only')
const TOKEN = 'the token of this process'

const start = async (userHeader: string | null = 'remote-user') => {
  let counted = 0
  const guard = new ForwardedOnly(TOKEN, userHeader, () => {
    counted += 1
  })
  const url = await listen(
    guard.around((req, res) => {
      res.setHeader('Content-Type', 'application/json')
      res.end(JSON.stringify(req.headers))
    }),
  )
  return {
    counted: () => counted,
    async get(path: string, headers: Record<string, string> = {}) {
      const { status, text } = await send(url + path, { headers })
      return { status, body: JSON.parse(text) }
    },
  }
}
const forwarder = (given: Record<string, string> = {}) => ({
  'X-Agent-Webui-Forwarder': TOKEN,
  ...given,
})

test.after.each(closeForwarders)

test('refused: no token, no person, and a person other than the header of the service names', async () => {
  const cell = await start()
  const anna = { 'X-Agent-Webui-Person': 'anna' }
  const none = await cell.get('/api/sessions', { ...anna, 'Remote-User': 'anna' })
  assert.equal([none.status, none.body.code], [403, 'forbidden'])
  assert.is((await cell.get('/', forwarder())).status, 403)
  const wrong: Record<string, string>[] = [
    {},
    { 'Remote-User': 'eve' },
    { 'Remote-User': 'anna, anna' },
  ]
  for (const named of wrong) {
    const { status, body } = await cell.get('/', { ...forwarder(anna), ...named })
    assert.is(status, 403)
    assert.match(body.error, /to the same name at both/)
  }
  assert.is(cell.counted(), 0)
  assert.is((await cell.get('/', forwarder({ ...anna, 'Remote-User': 'Anna' }))).status, 200)
  assert.is(cell.counted(), 1)
})

test('the token of an earlier process: the forwarder is to look for the one that serves now', async () => {
  const cell = await start(null)
  assert.is((await cell.get('/', { 'X-Agent-Webui-Forwarder': 'of yesterday' })).status, 421)
  assert.is((await cell.get('/', forwarder())).status, 200)
})

test('what watches the process needs no token, is no activity, and is believed nothing', async () => {
  const cell = await start()
  const claimed = {
    'X-Forwarded-For': '10.1.2.3',
    'X-Forwarded-Prefix': '/health',
    'X-Real-Host': 'x',
    'Remote-User': 'anna',
  }
  for (const path of ['/health', '/ready', '/metrics?x=1']) {
    const { status, body } = await cell.get(path, { ...claimed, 'X-Api-Key': 't' })
    assert.is(status, 200)
    assert.equal(
      Object.keys(claimed).map(name => body[name.toLowerCase()]),
      [undefined, undefined, undefined, undefined],
    )
    assert.is(body['x-api-key'], 't')
  }
  assert.is((await cell.get('/health/../api/sessions')).status, 403)
  assert.is(cell.counted(), 0)
  const person = { 'X-Agent-Webui-Person': 'anna' }
  const { body } = await cell.get('/health', forwarder({ ...claimed, ...person }))
  assert.is(body['x-forwarded-for'], '10.1.2.3')
})

test.run()
