/** `npm run languages [-- TAG]`: prints the English messages that a translation lacks, and what is wrong with it; every language without TAG. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { LANGUAGES, type Language } from '../lib/base/languages.ts'
import { englishMessages, type Message, type Messages, sourceOf } from '../public/strings/t.ts'

const root = join(import.meta.dirname, '..')

/** English messages of all features, by their text. */
export const readEnglish = async (): Promise<Messages> => {
  for (const path of globSync('public/{strings,features,parts}/**/*{strings,error-codes}.ts', {
    cwd: root,
  }))
    await import(join(root, path))
  const messages = englishMessages().flatMap(catalog => Object.values(catalog))
  return Object.fromEntries(messages.map(message => [sourceOf(message), message]))
}

export const readTranslation = (language: Language): Messages =>
  JSON.parse(readFileSync(join(root, 'public/languages', `${language}.json`), 'utf8'))

export const TRANSLATED = Object.keys(LANGUAGES).filter(tag => tag !== 'en') as Language[]

const textsOf = (message: Message): string[] =>
  typeof message === 'string' ? [message] : Object.values(message)

/** A part that is left out together with its placeholder, as in `Read[ {object}]`. */
const OPTIONAL = /^[^[\]]*\[[^[\]{}]*\{\w+\}[^[\]{}]*\][^[\]]*$/

const placeholdersOf = (text: string): string[] =>
  [...new Set(text.match(/\{\w+\}/g))].toSorted((a, b) => a.localeCompare(b))

/** What is wrong with one translated message; null when nothing is. */
const problemOf = (english: Message, message: Message, language: Language): string | null => {
  const texts = textsOf(message)
  if (texts.some(text => text.trim() === '')) return 'is empty'
  if (typeof english === 'string') {
    if (typeof message !== 'string') return 'has plural forms, but the English message has none'
    const wanted = placeholdersOf(english).join(' ')
    if (placeholdersOf(message).join(' ') !== wanted) return `must contain ${wanted || 'no {}'}`
    return OPTIONAL.test(english) && !OPTIONAL.test(message) ? 'must contain […{}…]' : null
  }
  if (typeof message === 'string') return 'has no plural forms'
  const categories = new Intl.PluralRules(language).resolvedOptions().pluralCategories
  const missing = categories.filter(category => !Object.hasOwn(message, category))
  if (missing.length > 0) return `lacks the plural forms ${missing.join(', ')}`
  const known = new Set(placeholdersOf(english.other))
  const needed = [...known].filter(name => name !== '{count}')
  for (const text of texts) {
    const names = placeholdersOf(text)
    const wrong = names.find(name => !known.has(name)) ?? needed.find(name => !names.includes(name))
    if (wrong) return `must contain ${[...known].join(' ')}, and nothing else in braces`
  }
  return placeholdersOf(message.other).includes('{count}') || !known.has('{count}')
    ? null
    : 'must contain {count}'
}

export type Report = { missing: Messages; obsolete: string[]; wrong: Record<string, string> }

export const checkTranslation = (
  english: Messages,
  messages: Messages,
  language: Language,
): Report => {
  /** `key|text` is a second meaning of the text. */
  const englishOf = (key: string): Message | undefined =>
    english[key] ?? english[key.slice(key.indexOf('|') + 1)]
  const isMissing = (key: string) => !Object.hasOwn(messages, key)
  return {
    missing: Object.fromEntries(Object.entries(english).filter(([key]) => isMissing(key))),
    obsolete: Object.keys(messages).filter(key => englishOf(key) === undefined),
    wrong: Object.fromEntries(
      Object.entries(messages).flatMap(([key, message]) => {
        const source = englishOf(key)
        const problem = source === undefined ? null : problemOf(source, message, language)
        return problem === null ? [] : [[key, problem]]
      }),
    ),
  }
}

if (import.meta.main) {
  const english = await readEnglish()
  const [only] = process.argv.slice(2)
  for (const language of TRANSLATED.filter(tag => !only || tag === only)) {
    const report = checkTranslation(english, readTranslation(language), language)
    process.stdout.write(`${language} ${JSON.stringify(report, null, 1)}\n`)
  }
}
