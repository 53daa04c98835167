/** Typed translation: `t(key, values)` looks up a message and fills its `{placeholders}`; keys and placeholders are checked by the compiler. */
import { visibleWords } from '../../lib/base/visible.ts'
import { en } from './en.ts'

type Plural = { readonly one: string; readonly other: string }
type Names<S> = S extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never
type Placeholders<V> = V extends Plural ? Names<V['other']> | 'count' : Names<V>
/** Several names are shown as a list of the language. */
type Value = string | number | readonly string[]
type Values<V> = { [N in Placeholders<V>]: N extends 'count' ? number : Value }

type Base = typeof en
export type Key = keyof Base
/** A message without placeholders: safe to keep in a table and look up later. */
export type PlainKey = {
  [K in Key]: [Placeholders<Base[K]>] extends [never] ? K : never
}[Key]
type Rest<V> = [Placeholders<V>] extends [never] ? [] : [values: Values<V>]
type Texts = Readonly<Record<string, string | Plural>>
/** A feature's own messages over the base catalog. */
type Merged<C> = Omit<Base, keyof C> & C

/** A message of any language: a text, or one for each plural category of the language. */
export type Message =
  | string
  | (Partial<Readonly<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string })
/** By the id of each. */
export type Messages = Readonly<Record<string, Message>>
/** Of a language, by the name of their catalog. */
export type Catalogs = Readonly<Record<string, Messages>>

type PageLanguage = {
  tag: string
  catalogs: Catalogs
  /** Created when they are first needed. English does without: their data takes longer to load than the first view to render. */
  plurals?: Intl.PluralRules | undefined
  formats?: string
  isRtl?: boolean
}

/** The language of the page, the same for every module, set before anything is shown. */
const current: PageLanguage = { tag: 'en', catalogs: {} }

/** Shows messages of this language; English ones where it has none. Called once, before the page is rendered. */
export const setLanguage = (language: string, catalogs: Catalogs): void => {
  const [base] = language.split('-', 1)
  // A regional variant that the browser prefers has its own dates, such as en-GB.
  // Chromium without a locale names `en-US@posix`, which `Intl` rejects.
  const own = globalThis.navigator?.languages.find(
    tag => tag.split('-', 1)[0] === base && !tag.includes('@'),
  )
  Object.assign(current, {
    tag: language,
    catalogs,
    plurals: undefined,
    // Countries with Arabic write digits in two ways. One way in the whole page: that of its codes, sizes, and addresses.
    formats:
      language === 'ar'
        ? `${own ?? language}`.split('-u-', 1)[0] + '-u-nu-latn'
        : (own ?? language),
    isRtl: language === 'ar',
  })
}

/** More messages of the language, of what is shown next. */
export const addCatalogs = (catalogs: Catalogs): void => {
  current.catalogs = { ...current.catalogs, ...catalogs }
}

/** Nothing has to be translated. */
export const isEnglish = (): boolean => current.tag === 'en'

/** Locale of dates and amounts; undefined (the default of `Intl`) before `setLanguage`. */
export const pageLocale = (): string | undefined => current.formats

/** Dates and amounts without the marks of direction that some languages have in them: they would be shown as those of a name. */
export const withoutMarks = (formatted: string): string =>
  formatted.replace(/\p{Bidi_Control}/gu, '')

/**
 * Messages from right to left with their marks, so that one inside of another or in a toast does not show them. No name can
 * be one of them: hidden characters of names are shown.
 */
const marked = new Set<string>()
const MAX_MARKED = 5_000

/** Of messages that were put together. */
export const withMarks = (text: string): string => {
  if (!current.isRtl) return text
  if (marked.size > MAX_MARKED) marked.clear()
  marked.add(text)
  return text
}

/** Shows the hidden characters of a text that may be one of `t`. */
export const visibleMessage = (text: string): string =>
  marked.has(text) ? text : visibleWords(text)

/** Names and paths may contain invisible or reordering characters, and keep their own direction in a sentence from right to left. */
const nameOf = (value: string): string => {
  const text = visibleMessage(value)
  return current.isRtl ? `\u2068${text}\u2069` : text
}

/** "a, b, and c" in the page's language. */
export const listOf = (names: readonly string[]): string =>
  withMarks(new Intl.ListFormat(pageLocale()).format(names.map(nameOf)))

const categoryOf = (count: number): Intl.LDMLPluralRule => {
  if (current.tag === 'en') return count === 1 ? 'one' : 'other'
  current.plurals ??= new Intl.PluralRules(current.tag)
  return current.plurals.select(count)
}

const select = (entry: Message, count: unknown): string =>
  typeof entry === 'string' ? entry : (entry[categoryOf(Number(count))] ?? entry.other)

/** The formats of `Intl` take milliseconds when they are first used; most numbers of the page need none. */
const numberOf = (value: number): string =>
  !current.isRtl && Number.isInteger(value) && value >= 0 && value < 1_000
    ? String(value)
    : value.toLocaleString(current.isRtl ? current.formats : current.tag)

const english = new Map<string, { texts: Texts; parts: readonly string[] }>()
/** English messages of all modules loaded so far, by the name of their catalog; for the check of translations. */
export const englishCatalogs = (): ReadonlyMap<
  string,
  { texts: Texts; parts: readonly string[] }
> => english

const BEGINS_WITH_NAME = /^[^\p{L}{]*\{.*\p{Script=Arabic}/u

/** The catalog of the first page load, behind those of all features. */
const BASE = 'page'

/**
 * A translator over the base catalog and the messages of one feature. Features bring their own catalog so that the first page
 * load carries only the text it shows. Translations are found by its `name` and the id of a message, or by the names of the
 * catalogs that it has in itself.
 */
export const translator = <const C extends Texts>(name: string, catalog: C, ...parts: string[]) => {
  const names = [name, ...parts, BASE]
  english.set(name, { texts: catalog, parts: names })
  return <K extends keyof Merged<C> & string>(key: K, ...[values]: Rest<Merged<C>[K]>): string => {
    const filled = (values ?? {}) as Record<string, Value>
    const from = names.find(each => current.catalogs[each]?.[key] !== undefined)
    const message = from ? current.catalogs[from]![key]! : (catalog[key] ?? (en as Texts)[key]!)
    const text = select(message, filled.count)
    const result = text.replace(/\{(\w+)\}/g, (placeholder, name) => {
      const value = filled[name]
      if (value === undefined) return placeholder
      if (typeof value === 'number') return numberOf(value)
      return typeof value === 'string' ? nameOf(value) : listOf(value)
    })
    if (!current.isRtl || !values) return result
    // `dir=auto` takes the direction of the first letter, also of one in an isolated name.
    return withMarks(BEGINS_WITH_NAME.test(text) ? `\u200f${result}` : result)
  }
}

/** Translator of the base catalog. */
export const t = translator('page', en)
