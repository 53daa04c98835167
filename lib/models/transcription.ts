/** Speech to text: chooses the service of a home and sends it a recording. */
import { readFile } from 'node:fs/promises'
import { asObject } from '../base/json.ts'
import { invalid, unavailable } from '../errors.ts'
import { credentialFor, isLocalUrl } from './credentials.ts'
import { type ModelHome, readSetup } from './provider-config.ts'
import { yamlFlag } from '../store/yaml-file.ts'

export type SpeechEndpoint = { url: string; apiKey: string | null; model: string }

/** Supported services (OpenAI's transcription API). */
const SERVICES = {
  openai: { provider: 'openai', url: 'https://api.openai.com/v1', model: 'whisper-1' },
  groq: {
    provider: 'groq',
    url: 'https://api.groq.com/openai/v1',
    model: 'whisper-large-v3-turbo',
  },
} as const
type Service = keyof typeof SERVICES

const TIMEOUT_MS = 60_000
const MAX_ERROR_CHARS = 300

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

const plainUrl = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : null
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password
  return isPlain ? text.replace(/\/+$/, '') : ''
}

/** A key for the service's own address. Groq is not in the provider table, so its variable is named here. */
const keyOf = (home: ModelHome, service: Service): string => {
  const env = home.env()
  if (service === 'groq') return textOf(env.GROQ_API_KEY)
  const { provider, url } = SERVICES.openai
  return (
    textOf(env.VOICE_TOOLS_OPENAI_KEY) || (credentialFor(readSetup(home), provider, url)?.key ?? '')
  )
}

/**
 * The speech-to-text service; null when none is configured. An address in `stt` gets the key written beside it and no other
 * one. Without an address: the service named by `stt.provider`, else the first with a key.
 */
export const speechEndpoint = (home: ModelHome): SpeechEndpoint | null => {
  const stt = asObject(home.settings().stt)
  // A malformed value would read as "any service".
  const isMisshapen = stt.provider !== undefined && typeof stt.provider !== 'string'
  if (yamlFlag(stt.enabled) === false || (isMisshapen && stt.provider !== null)) return null
  const wanted = textOf(stt.provider).toLowerCase()
  const own = asObject(stt[wanted || 'openai'])
  const model = textOf(own.model) || textOf(stt.model)
  const address = textOf(own.base_url) || textOf(stt.base_url)
  if (address) {
    const url = plainUrl(address)
    const apiKey = textOf(own.api_key) || textOf(stt.api_key) || null
    if (!url || (url.startsWith('http:') && !isLocalUrl(url))) return null
    return apiKey || isLocalUrl(url) ? { url, apiKey, model: model || SERVICES.openai.model } : null
  }
  const services = (Object.keys(SERVICES) as Service[]).filter(name => !wanted || name === wanted)
  const service = services.find(name => keyOf(home, name) !== '')
  if (!service) return null
  const { url, model: usual } = SERVICES[service]
  return { url, apiKey: keyOf(home, service), model: model || usual }
}

const errorMessageIn = (text: string): string => {
  try {
    const body = JSON.parse(text) as { error?: { message?: unknown } | string; message?: unknown }
    const { error } = body
    return textOf(typeof error === 'object' ? error?.message : error) || textOf(body.message)
  } catch {
    // Not JSON, such as a proxy's HTML page: nothing to show.
    return ''
  }
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
    throw unavailable('Couldn’t reach the speech service')
  })
  const text = await answer.text()
  if (!answer.ok) {
    const message = errorMessageIn(text)
      .replaceAll(apiKey ?? '\0', '***')
      .slice(0, MAX_ERROR_CHARS)
    const refuse = answer.status === 400 || answer.status === 415 ? invalid : unavailable
    throw refuse(message || `The speech service returned status ${answer.status}`)
  }
  const transcript = asObject(JSON.parse(text)).text
  if (typeof transcript !== 'string') throw unavailable('The speech service returned no text')
  return transcript.trim()
}
