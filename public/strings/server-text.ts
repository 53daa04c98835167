/** What the server reports, in the page's language. */
import { asObject } from '../../lib/base/json.ts'
import type { ErrorCode } from '../../lib/schema/error-code.ts'
import type { ErrorDetail } from '../api.ts'
import { errorMessage, TEXTS } from './error-codes.ts'
import { knownSentence, t, toForm, valuesIn, withCauses } from './server-strings.ts'
import { isEnglish } from './t.ts'

/** What finds a failed request in the server's log. In English, as the log. Null unless the server has named the request. */
export const errorDetail = (
  status: number,
  { error, request_id: id }: Record<string, unknown>,
  route: string,
): ErrorDetail | null => {
  if (status < 500 || typeof id !== 'string') return null
  const text = `${route}: ${status} ${error}\nrequest_id: ${id}\n${new Date().toISOString()}`
  return { label: t('server.copy'), text }
}

/** What a sentence can name. */
const isValue = (value: unknown): boolean =>
  ['string', 'number'].includes(typeof value) ||
  (Array.isArray(value) && value.every(each => typeof each === 'string'))

/** The page's text for a code; undefined when there is none, or when it lacks a value. */
export const errorText = (code: unknown, values: unknown): string | undefined => {
  const text =
    typeof code === 'string' && Object.hasOwn(TEXTS, code) ? TEXTS[code as ErrorCode] : null
  if (!text) return undefined
  const given = asObject(values)
  const names = [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  if (names.some(name => !isValue(given[name]))) return undefined
  return errorMessage(code as string, withCauses(given))
}

/** Errors that also are the text of a failed turn, or of a test: there only their sentence arrives. */
export const CODED: readonly (readonly [sentence: string, code: ErrorCode])[] = [
  ['{name} has no API key. {advice}, or pick another model.', 'key_missing'],
  [
    '{name} is not signed in. Sign in with the command line, or pick another model.',
    'provider_not_signed_in',
  ],
  [
    '{name} has no address. Set base_url for it in config.yaml, or pick another model.',
    'provider_no_address',
  ],
  [
    'The address of {name} in config.yaml is not a plain http:// or https:// address.',
    'provider_address_invalid',
  ],
  [
    '{holder} holds a sign-in of another program, and {name} works with an API key only. Set ANTHROPIC_API_KEY in the .env file of this profile, or pick another model.',
    'key_of_other_program',
  ],
  [
    '{holder} is a key of {name} and is not sent to {host}. Write the key for that address as model.api_key in config.yaml, or pick another model.',
    'key_not_for_host',
  ],
  [
    '{name} serves {model} only through an external agent program. Pick another model, or that program itself.',
    'model_needs_agent',
  ],
  [
    'Unknown agent "{name}". Pick one in the model menu, or add it to config.yaml with acp_command.',
    'agent_unknown',
  ],
  [
    '{file}: {key} is not a setting; did you mean "{name}"? Fix it first: no request is sent while the provider is unclear.',
    'provider_misspelled',
  ],
  [
    '{file}: {key} is {value}, but must be {kind}. Fix it first: no request is sent while the provider is unclear.',
    'provider_setting_invalid',
  ],
  [
    'config.yaml: {problem}. Fix it first: no request is sent to OpenRouter while it’s unclear which of its providers may read it.',
    'routing_invalid',
  ],
  [
    '{file} cannot be read: {reason}. Nothing runs with these settings until it is fixed.',
    'file_unreadable',
  ],
  ['Couldn’t renew the sign-in of {name}: {reason}.', 'sign_in_not_renewed'],
  ['Couldn’t load models from {host}: {reason}.', 'model_list_failed'],
  ['{host} didn’t return a list of models.', 'model_list_invalid'],
]

const FORMS = CODED.map(([text, code]) => ({ form: toForm(text), code }))

const codedText = (sentence: string): string | undefined => {
  for (const { form, code } of FORMS) {
    const values = valuesIn(form, sentence)
    if (values) return errorText(code, values)
  }
  return undefined
}

/** A sentence of the server or of a provider in the page's language, as far as it is known. */
export const serverText = (sentence: string): string =>
  knownSentence(sentence) ?? codedText(sentence.trim()) ?? sentence

/** The same for a cause without a sentence around it: words of a provider are quoted in another language. */
export const causeText = (sentence: string): string => {
  const shown = serverText(sentence)
  return shown === sentence && sentence !== '' && !isEnglish()
    ? t('server.quote', { text: sentence })
    : shown
}

/** An error response in the page's language: its text for the code, or the sentence, which in another language is quoted. */
export const replyText = (code: unknown, values: unknown, sentence: string): string => {
  const text = errorText(code, values)
  if (text !== undefined) return text
  const shown = serverText(sentence)
  return shown === sentence && !isEnglish() ? t('server.said', { text: sentence }) : shown
}
