/** What the server reports, in the page's language: by its code and values, never by its words. */
import { asObject } from '../../lib/base/json.ts'
import { type Coded, SENTENCES } from '../../lib/base/sentences.ts'
import type { ErrorDetail } from '../api.ts'
import { errorMessage, TEXTS } from './error-codes.ts'
import { isEnglish, translator } from './t.ts'

const t = translator('server', {
  'server.copy': 'Copy details',
  'server.said': 'The server reports: “{text}”',
  'server.quote': '“{text}”',
})

type Translate = (code: string, values: object) => string

const sentence = translator('sentence', SENTENCES) as Translate

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

const quoted = (text: string): string => (isEnglish() ? text : t('server.quote', { text }))

/** Values that are words of another program, unless they have a code. */
const CAUSES = new Set(['reason', 'problem', 'kind'])

/** As it is shown in a sentence; undefined for what none can name. */
const valueText = (name: string, value: unknown): unknown => {
  if (typeof value === 'string') return CAUSES.has(name) ? quoted(value) : value
  if (typeof value === 'number') return value
  if (Array.isArray(value)) return value.every(each => typeof each === 'string') ? value : undefined
  return codedText(value)
}

/** Each value as it is shown. `sentences`: those that have a code, of the server's message. */
export const shownValues = (values: unknown, sentences?: unknown): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries({ ...asObject(values), ...asObject(sentences) }).map(([name, value]) => [
      name,
      valueText(name, value),
    ]),
  )

const textFor = (code: string): [text: string, translate: Translate] | undefined => {
  if (Object.hasOwn(SENTENCES, code)) return [asObject(SENTENCES)[code] as string, sentence]
  const text = Object.hasOwn(TEXTS, code) ? asObject(TEXTS)[code] : null
  return typeof text === 'string' ? [text, errorMessage] : undefined
}

/** The page's text for a code; undefined when there is none, or when it lacks a value. */
export const errorText = (
  code: unknown,
  values: unknown,
  sentences?: unknown,
): string | undefined => {
  const [text, translate] = (typeof code === 'string' && textFor(code)) || []
  if (text === undefined || !translate) return undefined
  const texts = shownValues(values, sentences)
  const names = [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  return names.some(name => texts[name] === undefined)
    ? undefined
    : translate(code as string, texts)
}

const codedText = (coded: unknown): string | undefined => {
  const { code, values } = asObject(coded)
  return errorText(code, values)
}

/** A sentence of the server in the page's language. `coded`: its code; what has none is shown as it is. */
export const serverText = (words: string, coded: Coded | undefined): string =>
  codedText(coded) ?? words

/** The same for a cause without a sentence around it: words of another program are quoted in another language. */
export const causeText = (words: string, coded: Coded | undefined): string =>
  codedText(coded) ?? (words === '' ? '' : quoted(words))

/** An error response in the page's language: its text for the code, or the sentence, which in another language is quoted. */
export const replyText = (
  { code, values, sentences }: Record<string, unknown>,
  words: string,
): string =>
  errorText(code, values, sentences) ??
  codedText(asObject(sentences).error) ??
  (isEnglish() ? words : t('server.said', { text: words }))
