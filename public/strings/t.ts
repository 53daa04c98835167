/** Typed translation: `t(key, values)` looks up a message and fills its `{placeholders}`; keys and placeholders are checked by the compiler. */
import { visibleWords } from '../../lib/base/visible.ts'
import { en } from './en.ts'

type Plural = { readonly one: string; readonly other: string }
type Names<S> = S extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never
type Placeholders<V> = V extends Plural ? Names<V['other']> | 'count' : Names<V>
type Values<V> = { [N in Placeholders<V>]: N extends 'count' ? number : string | number }

type Base = typeof en
export type Key = keyof Base
/** A message without placeholders: safe to keep in a table and look up later. */
export type PlainKey = {
  [K in Key]: [Placeholders<Base[K]>] extends [never] ? K : never
}[Key]
type Rest<V> = [Placeholders<V>] extends [never] ? [] : [values: Values<V>]
type Catalog = Readonly<Record<string, string | Plural>>
/** A feature's own messages over the base catalog. */
type Merged<C> = Omit<Base, keyof C> & C

const locale = 'en'
const plurals = new Intl.PluralRules(locale)

const select = (entry: string | Plural, count: unknown): string => {
  if (typeof entry === 'string') return entry
  return plurals.select(Number(count)) === 'one' ? entry.one : entry.other
}

/**
 * A translator over the base catalog and the messages of one feature. Features bring their own catalog so that the first page
 * load carries only the text it shows.
 */
export const translator = <const C extends Catalog>(catalog: C) => {
  const messages: Catalog = { ...en, ...catalog }
  return <K extends keyof Merged<C> & string>(key: K, ...[values]: Rest<Merged<C>[K]>): string => {
    const filled = (values ?? {}) as Record<string, string | number>
    return select(messages[key]!, filled.count).replace(/\{(\w+)\}/g, (placeholder, name) => {
      const value = filled[name]
      if (typeof value === 'number') return value.toLocaleString(locale)
      // Values include names of files, sessions and tools, which may contain invisible or reordering characters.
      return value === undefined ? placeholder : visibleWords(value)
    })
  }
}

/** Translator of the base catalog. */
export const t = translator({})
