/** Texts of notifications in the language of the one who receives them. */
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

const BUDGET =
  /^The budget for (this turn|this chat|today) is used up: (\S+)( tokens)? of (\S+?)(?: tokens)?\.$/
const SCOPES = { 'this turn': 'turn', 'this chat': 'session', today: 'day' } as const

/** The sentence of `lib/turns/context/spending-limit.ts` in another language; any other text as it is. */
export const translateBudget = (sentence: string, t: Translate): string => {
  const [, scope, used = '', tokens, limit = ''] = BUDGET.exec(sentence) ?? []
  if (scope === undefined) return sentence
  const amount = (text: string): string => {
    const value = Number(text.replace(/[$,]/g, ''))
    return tokens
      ? t('tokens', { count: value })
      : value.toLocaleString(numberLocale(t.language), { style: 'currency', currency: 'USD' })
  }
  const key = SCOPES[scope as keyof typeof SCOPES]
  return t(`budget.${key}`, { used: amount(used), limit: amount(limit) })
}
