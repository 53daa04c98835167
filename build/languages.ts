/** `npm run languages [-- TAG]`: prints the English messages that a translation lacks, and what is wrong with it; every language without TAG. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { LANGUAGES, type Language } from '../lib/base/languages.ts'
import { type Catalogs, englishCatalogs, type Message, type Messages } from '../public/strings/t.ts'

const root = join(import.meta.dirname, '..')

/** English messages of all features, each in the catalog that its translations are in. */
export const readEnglish = async (): Promise<Catalogs> => {
  for (const path of globSync('public/{strings,features,parts}/**/*{strings,error-codes}.ts', {
    cwd: root,
  }))
    await import(join(root, path))
  const catalogs = englishCatalogs()
  return Object.fromEntries(
    [...catalogs].map(([name, { texts, parts }]) => {
      const isOwn = (id: string) =>
        parts.every(part => part === name || catalogs.get(part)?.texts[id] !== texts[id])
      return [name, Object.fromEntries(Object.entries(texts).filter(([id]) => isOwn(id)))]
    }),
  )
}

export const readTranslation = (language: Language): Catalogs =>
  JSON.parse(readFileSync(join(root, 'public/languages', `${language}.json`), 'utf8'))

/** The messages of all catalogs by `name/id`. */
export const flatten = (catalogs: Catalogs): Messages =>
  Object.fromEntries(
    Object.entries(catalogs).flatMap(([name, messages]) =>
      Object.entries(messages).map(([id, message]) => [`${name}/${id}`, message]),
    ),
  )

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

/** `english` and `messages`: as `flatten` returns them. */
export const checkTranslation = (
  english: Messages,
  messages: Messages,
  language: Language,
): Report => {
  const keys = Object.keys(messages)
  return {
    missing: Object.fromEntries(
      Object.entries(english).filter(([key]) => !Object.hasOwn(messages, key)),
    ),
    obsolete: keys.filter(key => !Object.hasOwn(english, key)),
    wrong: Object.fromEntries(
      keys.flatMap(key => {
        const problem = english[key] && problemOf(english[key], messages[key]!, language)
        return problem ? [[key, problem]] : []
      }),
    ),
  }
}

if (import.meta.main) {
  const english = flatten(await readEnglish())
  const [only] = process.argv.slice(2)
  for (const language of TRANSLATED.filter(tag => !only || tag === only)) {
    const report = checkTranslation(english, flatten(readTranslation(language)), language)
    process.stdout.write(`${language} ${JSON.stringify(report, null, 1)}\n`)
  }
}
