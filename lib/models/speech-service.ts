/** What speech-to-text and text-to-speech have in common: addresses and keys from config.yaml, and errors of the services. */
import { errorMessageIn } from '../agent/providers/http-post.ts'
import { isLocalUrl } from '../base/local-network.ts'
import { asObject } from '../base/json.ts'
import { invalid, unavailable } from '../errors.ts'
import { yamlFlag } from '../store/yaml-file.ts'
import { credentialFor } from './credentials.ts'
import { type ModelHome, readSetup } from './provider-config.ts'

export const OPENAI_URL = 'https://api.openai.com/v1'
const MAX_ERROR_CHARS = 300

export const trimmedText = (value: unknown): string =>
  typeof value === 'string' ? value.trim() : ''

const plainUrl = (text: string): string => {
  const url = URL.parse(text)
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password
  return isPlain ? text.replace(/\/+$/, '') : ''
}

/** The key for OpenAI's own address; empty when there is none. */
export const openaiKey = (home: ModelHome): string =>
  trimmedText(home.env().VOICE_TOOLS_OPENAI_KEY) ||
  (credentialFor(readSetup(home), 'openai', OPENAI_URL)?.key ?? '')

export type SpeechSection = {
  /** In lower case; empty: none is named. */
  provider: string
  /** A setting of the named provider's section, or else of the whole section. */
  setting: (key: string) => string
  /** Undefined when no address is configured; null when the configured one cannot be used. */
  address: { url: string; apiKey: string | null } | null | undefined
}

/**
 * `stt` or `tts` of config.yaml; null when it is turned off or malformed. An address gets the key written beside it and no
 * other one, and no key goes over the network unencrypted.
 */
export const readSection = (home: ModelHome, name: 'stt' | 'tts'): SpeechSection | null => {
  const section = asObject(home.config()[name])
  // A malformed value would read as "any service".
  const isMisshapen = section.provider !== undefined && typeof section.provider !== 'string'
  if (yamlFlag(section.enabled) === false || (isMisshapen && section.provider !== null)) return null
  const provider = trimmedText(section.provider).toLowerCase()
  const own = asObject(section[provider || 'openai'])
  const setting = (key: string) => trimmedText(own[key]) || trimmedText(section[key])
  const configured = setting('base_url')
  if (!configured) return { provider, setting, address: undefined }
  const url = plainUrl(configured)
  const apiKey = setting('api_key') || null
  const isUsable = url !== '' && (isLocalUrl(url) || (apiKey !== null && !url.startsWith('http:')))
  return { provider, setting, address: isUsable ? { url, apiKey } : null }
}

/** The error of a service as ours: its own sentence, the key masked. */
export const serviceError = (status: number, text: string, apiKey: string | null): Error => {
  const sentence = text.trimStart().startsWith('{') ? errorMessageIn(text) : ''
  const message = sentence.replaceAll(apiKey ?? '\0', '***').slice(0, MAX_ERROR_CHARS)
  const refuse = status === 400 || status === 415 ? invalid : unavailable
  return refuse(message || `The speech service returned status ${status}`)
}
