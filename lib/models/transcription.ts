/** Speech to text: chooses the service of a home and sends it a recording. */
import { readFile } from 'node:fs/promises'
import { asObject } from '../base/json.ts'
import { unavailable } from '../errors.ts'
import type { ModelHome } from './provider-config.ts'
import { OPENAI_URL, openaiKey, readSection, serviceError, trimmedText } from './speech-service.ts'

export type SpeechEndpoint = { url: string; apiKey: string | null; model: string }

/** Supported services (OpenAI's transcription API). */
const SERVICES = {
  openai: { url: OPENAI_URL, model: 'whisper-1' },
  groq: {
    url: 'https://api.groq.com/openai/v1',
    model: 'whisper-large-v3-turbo',
  },
} as const
type Service = keyof typeof SERVICES

const TIMEOUT_MS = 60_000

/** A key for the service's own address. Groq is not in the provider table, so its variable is named here. */
const keyOf = (home: ModelHome, service: Service): string =>
  service === 'groq' ? trimmedText(home.env().GROQ_API_KEY) : openaiKey(home)

/** The speech-to-text service; null when none is configured. Without an address: the service named by `stt.provider`, else the first with a key. */
export const speechEndpoint = (home: ModelHome): SpeechEndpoint | null => {
  const section = readSection(home, 'stt')
  if (!section || section.address === null) return null
  const { address, provider } = section
  const model = section.setting('model')
  if (address) return { ...address, model: model || SERVICES.openai.model }
  const services = (Object.keys(SERVICES) as Service[]).filter(
    name => !provider || name === provider,
  )
  const service = services.find(name => keyOf(home, name) !== '')
  if (!service) return null
  const { url, model: usual } = SERVICES[service]
  return { url, apiKey: keyOf(home, service), model: model || usual }
}

export type Recording = { path: string; name: string; type: string }

/** Returns the transcript. Throws a UserError with the service's message, the key masked. */
export const transcribe = async (
  endpoint: SpeechEndpoint,
  recording: Recording,
  signal: AbortSignal,
): Promise<string> => {
  const { url, apiKey, model } = endpoint
  const form = new FormData()
  form.set('model', model)
  form.set('response_format', 'json')
  // Read into memory: streaming the file fails when the service closes the connection early.
  const { path, type, name } = recording
  form.set('file', new Blob([await readFile(path)], { type }), name)
  const answer = await fetch(`${url}/audio/transcriptions`, {
    method: 'POST',
    body: form,
    // Following a redirect would send the key to an address that was not configured.
    redirect: 'error',
    headers: apiKey ? { authorization: `Bearer ${apiKey}` } : {},
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  }).catch(() => {
    throw unavailable('Couldn’t reach the speech service', { code: 'speech_unreachable' })
  })
  const text = await answer.text()
  if (!answer.ok) throw serviceError(answer.status, text, apiKey)
  const transcript = asObject(JSON.parse(text)).text
  if (typeof transcript !== 'string')
    throw unavailable('The speech service returned no text', { code: 'speech_empty' })
  return transcript.trim()
}
