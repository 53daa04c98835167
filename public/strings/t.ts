/** Looks a sentence up in the catalogue and fills its places; key and names are checked by the compiler. */
import { visibleWords } from '../../lib/base/visible.ts'
import { en } from './en.ts'

type Plural = { readonly one: string; readonly other: string }
type Names<S> = S extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never
type Places<V> = V extends Plural ? Names<V['other']> | 'count' : Names<V>
type Fill<V> = { [N in Places<V>]: N extends 'count' ? number : string | number }

export type Key = keyof typeof en
/** A sentence without places: these may be kept in tables and looked up later. */
export type PlainKey = {
  [K in Key]: [Places<(typeof en)[K]>] extends [never] ? K : never
}[Key]
type Rest<V> = [Places<V>] extends [never] ? [] : [fill: Fill<V>]
type Catalogue = Readonly<Record<string, string | Plural>>

const locale = 'en'
const plurals = new Intl.PluralRules(locale)

const pick = (entry: string | Plural, count: unknown): string => {
  if (typeof entry === 'string') return entry
  return plurals.select(Number(count)) === 'one' ? entry.one : entry.other
}

/** A view that loads late brings its own catalogue: the first load carries no words it does not show. */
export const translator =
  <C extends Catalogue>(catalogue: C) =>
  <K extends keyof C & string>(key: K, ...[fill]: Rest<C[K]>): string => {
    const places = (fill ?? {}) as Record<string, string | number>
    return pick(catalogue[key] as string | Plural, places.count).replace(
      /\{(\w+)\}/g,
      (whole, name) => {
        const value = places[name]
        if (typeof value === 'number') return value.toLocaleString(locale)
        // Names of files, sessions and tools stand in sentences, too.
        return value === undefined ? whole : visibleWords(value)
      },
    )
  }

export const t = translator(en)
