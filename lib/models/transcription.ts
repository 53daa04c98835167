/** Speech to text: which service of this home may hear a recording, and asking it. */
import { readFile } from 'node:fs/promises'
import { asObject } from '../base/json.ts'
import { invalid, unavailable } from '../errors.ts'
import { credentialFor, isLocalUrl } from './credentials.ts'
import { type ModelHome, readSetup } from './provider-config.ts'
import { yamlFlag } from '../store/yaml-file.ts'

export type SpeechEndpoint = { url: string; apiKey: string | null; model: string }

/** Services that speak the format, with the variables their keys stand in beside the provider's own. */
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

/** A key that may go to this service's own address; Groq is no provider of models here, so its variable is named. */
const keyOf = (home: ModelHome, service: Service): string => {
  const env = home.env()
  if (service === 'groq') return textOf(env.GROQ_API_KEY)
  const { provider, url } = SERVICES.openai
  return (
    textOf(env.VOICE_TOOLS_OPENAI_KEY) || (credentialFor(readSetup(home), provider, url)?.key ?? '')
  )
}

/**
 * Null when none is configured. An address in `stt` gets the key written beside it and no other; without an address it is
 * the service `stt.provider` names, else the first that has a key.
 */
export const speechEndpoint = (home: ModelHome): SpeechEndpoint | null => {
  const stt = asObject(home.settings().stt)
  // Misshapen, it would read as "any service".
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
    // A page of some proxy: nothing in it is for a person.
    return ''
  }
}

export type Recording = { path: string; name: string; type: string }

/** What was said. Throws a Refusal with the service's own words, the key never among them. */
export const transcribe = async (
  endpoint: SpeechEndpoint,
  recording: Recording,
  signal: AbortSignal,
): Promise<string> => {
  const { url, apiKey, model } = endpoint
  const form = new FormData()
  form.set('model', model)
  form.set('response_format', 'json')
  // In memory: a file that is read while it is sent must not go before a service that has hung up early.
  const { path, type, name } = recording
  form.set('file', new Blob([await readFile(path)], { type }), name)
  const answer = await fetch(`${url}/audio/transcriptions`, {
    method: 'POST',
    body: form,
    // The key would travel to an address nobody configured.
    redirect: 'error',
    headers: apiKey ? { authorization: `Bearer ${apiKey}` } : {},
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  }).catch(() => {
    throw unavailable('The speech service cannot be reached')
  })
  const text = await answer.text()
  if (!answer.ok) {
    const said = errorMessageIn(text)
      .replaceAll(apiKey ?? '\0', '***')
      .slice(0, MAX_ERROR_CHARS)
    const refuse = answer.status === 400 || answer.status === 415 ? invalid : unavailable
    throw refuse(said || `The speech service answered with status ${answer.status}`)
  }
  const heard: unknown = JSON.parse(text)
  const transcript = asObject(heard).text
  if (typeof transcript !== 'string') throw unavailable('The speech service answered nothing')
  return transcript.trim()
}
