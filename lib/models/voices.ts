/** Text to speech: chooses the service of a home and streams what it reads. */
import { unavailable } from '../errors.ts'
import type { ModelHome } from './provider-config.ts'
import { OPENAI_URL, openaiKey, readSection, serviceError } from './speech-service.ts'

export type VoiceEndpoint = { url: string; apiKey: string | null; model: string; voice: string }

const MODEL = 'gpt-4o-mini-tts'
const VOICE = 'alloy'
/** The limit of OpenAI's speech API. */
export const MAX_SPOKEN_CHARS = 4_096
/** Until the first byte, and for the whole text. */
const TIMEOUT_MS = 60_000

/**
 * The text-to-speech service; null when none is configured. OpenAI is used only where `tts.provider` names it, because
 * it costs money there. Other providers of the host agent have other protocols.
 */
export const voiceEndpoint = (home: ModelHome): VoiceEndpoint | null => {
  const section = readSection(home, 'tts')
  if (!section || section.address === null) return null
  const { address, provider, setting } = section
  const options = { model: setting('model') || MODEL, voice: setting('voice') || VOICE }
  if (address) return { ...address, ...options }
  const apiKey = provider === 'openai' ? openaiKey(home) : ''
  return apiKey === '' ? null : { url: OPENAI_URL, apiKey, ...options }
}

/** The audio (MP3) as it arrives. Throws a UserError with the service's message, the key masked, before the first byte. */
export const speak = async (
  endpoint: VoiceEndpoint,
  { text, voice = endpoint.voice }: { text: string; voice?: string | undefined },
  signal: AbortSignal,
): Promise<AsyncIterable<Buffer>> => {
  const { url, apiKey, model } = endpoint
  const answer = await fetch(`${url}/audio/speech`, {
    method: 'POST',
    body: JSON.stringify({ model, voice, input: text, response_format: 'mp3' }),
    // Following a redirect would send the key to an address that was not configured.
    redirect: 'error',
    headers: {
      'content-type': 'application/json',
      ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    },
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  }).catch(() => {
    throw unavailable('Couldn’t reach the speech service', { code: 'speech_unreachable' })
  })
  if (!answer.ok) throw serviceError(answer.status, await answer.text(), apiKey)
  const type = answer.headers.get('content-type') ?? ''
  if (!answer.body || !/^(?:audio\/|application\/octet-stream)/.test(type)) {
    await answer.body?.cancel()
    throw unavailable('The speech service returned no audio', { code: 'speech_empty' })
  }
  return buffersOf(answer.body)
}

async function* buffersOf(source: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  for await (const chunk of source) yield Buffer.from(chunk)
}
