/** Providers whose key is the token of a sign-in: renewed before the call, and once after a 401. */
import { systemClock } from '../../../../lib/base/clock.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProviderFailure } from '../../../../lib/agent/failure.ts'
import type { KeySource } from '../../../../lib/agent/providers/http-provider.ts'
import { createProviders } from '../../../../lib/agent/providers/registry.ts'
import type { ModelEndpoint } from '../../../../lib/agent/types.ts'
import { unauthorized, unavailable } from '../../../../lib/errors.ts'
import { createProvider, type Scripted } from '../../../_provider.ts'

type Context = { server: Scripted; asked: [string | null, boolean][] }
const test = suite<Context>('keys of sign-ins', { server: null as never, asked: [] })
test.before.each(async context => {
  context.server = await createProvider()
  context.asked = []
})
test.after.each(({ server }) => server.close())

const DENIED = { status: 401, body: { error: { message: 'token expired' } } }

/** `keys` are the answers of the source, in order. */
const call = async (
  { server, asked }: Context,
  keys: (string | null | Error)[],
  more: Partial<ModelEndpoint> = {},
) => {
  const keyFor: KeySource = async ({ apiKey }, isRejected) => {
    asked.push([apiKey, isRejected])
    const next = keys.shift()
    if (next instanceof Error) throw next
    return next ?? null
  }
  const provide = createProviders(undefined, systemClock, keyFor).chat_completions
  if (!provide) throw new Error('no provider')
  let text = ''
  const stream = provide({
    endpoint: {
      provider: 'nous',
      model: 'm',
      apiMode: 'chat_completions',
      baseUrl: server.url,
      apiKey: 'first',
      contextLength: 0,
      signIn: { dir: '/', provider: 'nous', id: 'sign-in' },
      ...more,
    },
    messages: [{ role: 'user', content: 'hi' }],
    tools: [],
    signal: new AbortController().signal,
    workspace: '/',
  })
  for await (const delta of await stream) if (delta.type === 'text') text += delta.text
  return text
}
const keysAt = ({ requests }: Scripted) => requests.map(({ headers }) => headers.authorization)
const failureOf = async (work: Promise<unknown>): Promise<ProviderFailure> => {
  const error = await work.catch((reason: unknown) => reason)
  assert.instance(error, ProviderFailure)
  return error as ProviderFailure
}

test('a second 401 is the failure of the call', async context => {
  context.server.push(DENIED, DENIED)
  const { status, type } = await failureOf(call(context, ['second', 'third']))
  assert.equal([status, type], [401, 'auth_mismatch'])
  assert.equal(keysAt(context.server), ['Bearer second', 'Bearer third'])
  assert.equal(context.asked, [
    ['first', false],
    ['second', true],
  ])
})

test('is not repeated when no other key exists', async context => {
  context.server.push(DENIED)
  assert.is((await failureOf(call(context, [null, null]))).status, 401)
  assert.equal(keysAt(context.server), ['Bearer first'])
})

test('nothing is sent when the user has to sign in again; the sentence is final', async context => {
  const given = unauthorized('Sign in again.', {
    code: 'provider_sign_in_expired',
    values: { name: 'Nous' },
  })
  const failure = await failureOf(call(context, [given]))
  assert.equal(
    [failure.type, failure.retryable, failure.message, failure.coded],
    ['auth_mismatch', false, 'Sign in again.', given.coded],
  )
  assert.is(context.server.requests.length, 0)
})

test('an issuer that cannot be reached is a network failure, which is retried', async context => {
  const failure = await failureOf(call(context, [unavailable('Couldn’t renew it.')]))
  assert.equal([failure.type, failure.retryable], ['network', true])
})

test('another error than 401 renews nothing, nor does one in the middle of the response', async context => {
  context.server.push({ status: 403, body: { error: { message: 'forbidden' } } })
  await failureOf(call(context, ['second']))
  context.server.push({ text: ['a', 'b'], keep: 160, end: 'cut' })
  await failureOf(call(context, ['second']))
  assert.equal(context.asked, [
    ['first', false],
    ['first', false],
  ])
})

test('a rejected token is renewed and the call repeated', async context => {
  context.server.push(DENIED, { text: 'Here.' })
  assert.is(await call(context, [null, 'second']), 'Here.')
  assert.equal(keysAt(context.server), ['Bearer first', 'Bearer second'])
})

test('an API key is never exchanged', async context => {
  context.server.push({ text: 'Here.' })
  assert.is(await call(context, ['other'], { signIn: undefined }), 'Here.')
  assert.equal(keysAt(context.server), ['Bearer first'])
  assert.equal(context.asked, [])
})

test.run()
