/** Which speech service a home has, and which key goes there. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../lib/base/clock.ts'
import type { ModelHome } from '../../../lib/models/provider-config.ts'
import { speechEndpoint } from '../../../lib/models/transcription.ts'
import { configOf } from '../../_config.ts'

const homeWith = (stt: unknown, env: Record<string, string> = {}): ModelHome => ({
  clock: systemClock,
  values: () => ({ stt }),
  config: () => configOf({ stt }),
  env: () => env,
  dotenv: () => env,
  authJson: () => ({}),
})
const test = suite('transcription service')

test('no service without a key or when disabled', () => {
  assert.is(speechEndpoint(homeWith(undefined)), null)
  assert.is(speechEndpoint(homeWith({ provider: 'openai' })), null)
  assert.is(speechEndpoint(homeWith({ enabled: false }, { OPENAI_API_KEY: 'sk-abcdefgh' })), null)
  assert.is(
    speechEndpoint(homeWith({ provider: 'local' }, { OPENAI_API_KEY: 'sk-abcdefgh' })),
    null,
  )
})

test('an OpenAI key goes to OpenAI and nowhere else', () => {
  const env = { OPENAI_API_KEY: 'sk-abcdefgh' }
  const url = 'https://api.openai.com/v1'
  assert.equal(speechEndpoint(homeWith(undefined, env)), {
    url,
    apiKey: 'sk-abcdefgh',
    model: 'whisper-1',
  })
  const named = homeWith({ provider: 'openai', openai: { model: 'gpt-4o-transcribe' } }, env)
  assert.is(speechEndpoint(named)?.model, 'gpt-4o-transcribe')
  assert.is(speechEndpoint(homeWith({ base_url: 'https://speech.example/v1' }, env)), null)
  assert.is(
    speechEndpoint(homeWith({ base_url: 'http://speech.example/v1', api_key: 'k' }, env)),
    null,
  )
  const local = speechEndpoint(homeWith({ base_url: 'http://127.0.0.1:8000/v1/' }, env))
  assert.equal(local, { url: 'http://127.0.0.1:8000/v1', apiKey: null, model: 'whisper-1' })
})

test('Groq with its own key', () => {
  const found = speechEndpoint(homeWith(undefined, { GROQ_API_KEY: 'gsk_abcdefgh' }))
  assert.equal(found, {
    url: 'https://api.groq.com/openai/v1',
    apiKey: 'gsk_abcdefgh',
    model: 'whisper-large-v3-turbo',
  })
})

test.run()
