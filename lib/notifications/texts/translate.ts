/** Texts of notifications in the language of the one who receives them. */
import type { Coded } from '../../base/sentences.ts'
import { asObject } from '../../base/json.ts'
import { directionOf, type Language, numberLocale } from '../../base/languages.ts'
import { ar } from './ar.ts'
import { de } from './de.ts'
import { en, type Plural, type TextKey, type Texts } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'
import { ja } from './ja.ts'
import { ko } from './ko.ts'
import { ptBR } from './pt-BR.ts'
import { ru } from './ru.ts'
import { zhHans } from './zh-Hans.ts'

export const TEXTS: Readonly<Record<Language, Texts>> = {
  en,
  ar,
  de,
  es,
  fr,
  ja,
  ko,
  'pt-BR': ptBR,
  ru,
  'zh-Hans': zhHans,
}

export type Translate = {
  (key: TextKey, values?: Readonly<Record<string, string | number>>): string
  readonly language: Language
}

/** `{name}` is filled with a value; `count` also chooses the plural form. */
export const translatorFor = (language: Language): Translate => {
  const texts = TEXTS[language]
  // A name or a command keeps its own direction inside a sentence from right to left (Unicode TR9, FSI and PDI).
  const isolate = (value: string) =>
    directionOf(language) === 'rtl' ? `\u2068${value}\u2069` : value
  const formOf = (text: string | Plural, count: unknown): string =>
    typeof text === 'string'
      ? text
      : (text[new Intl.PluralRules(language).select(Number(count))] ?? text.other)
  const translate = (key: TextKey, values: Readonly<Record<string, string | number>> = {}) =>
    formOf(texts[key], values.count).replace(/\{(\w+)\}/g, (placeholder, name: string) => {
      const value = values[name]
      if (value === undefined) return placeholder
      return typeof value === 'number'
        ? value.toLocaleString(numberLocale(language))
        : isolate(value)
    })
  return Object.assign(translate, { language })
}

/** The end of a budget, as `lib/turns/context/spending-limit.ts` says it; undefined for anything else. */
export const budgetText = (coded: Coded | undefined, t: Translate): string | undefined => {
  const { code = '', values = {} } = coded ?? {}
  if (code !== 'budget.turn' && code !== 'budget.session' && code !== 'budget.day') return undefined
  const amount = (value: unknown): string => {
    const { count, amount: usd } = asObject(asObject(value).values)
    return typeof count === 'number'
      ? t('tokens', { count })
      : Number(usd).toLocaleString(numberLocale(t.language), { style: 'currency', currency: 'USD' })
  }
  return t(code, { used: amount(values.used), limit: amount(values.limit) })
}
