/** The responses to what the page requested before its code was there: only the first GET of a URL takes one. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { withFirstResponses } from '../../public/first-responses.ts'

const test = suite('first responses')
const URL_ = 'http://127.0.0.1/api/settings'

const open = () => {
  const sent: string[] = []
  const first = new Map([[URL_, Promise.resolve(new Response('early'))]])
  const send = async (url: Parameters<typeof fetch>[0], init?: RequestInit) => {
    sent.push(`${init?.method ?? 'GET'} ${url}`)
    return new Response('sent')
  }
  const fetching = withFirstResponses(first, send)
  return { sent, text: async (init?: RequestInit) => (await fetching(URL_, init)).text() }
}

test('a change of what was requested early is sent, and does not use up the early response', async () => {
  const { sent, text } = open()
  assert.is(await text({ method: 'POST', body: '{}' }), 'sent')
  assert.is(await text(), 'early')
  assert.equal(sent, [`POST ${URL_}`])
})

test('the early response is taken once', async () => {
  const { sent, text } = open()
  assert.is(await text({ method: 'GET' }), 'early')
  assert.is(await text(), 'sent')
  assert.equal(sent, [`GET ${URL_}`])
})

test.run()
