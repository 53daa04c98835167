/** Languages of the page, and the one for a browser. */

/** BCP 47 tags with the names that their speakers use, in the order of the setting. */
export const LANGUAGES = {
  en: 'English',
  ar: 'العربية',
  de: 'Deutsch',
  es: 'Español',
  fr: 'Français',
  ja: '日本語',
  ko: '한국어',
  'pt-BR': 'Português (Brasil)',
  ru: 'Русский',
  'zh-Hans': '简体中文',
} as const

export type Language = keyof typeof LANGUAGES

const TAGS = Object.keys(LANGUAGES) as Language[]

export const directionOf = (language: Language): 'ltr' | 'rtl' =>
  language === 'ar' ? 'rtl' : 'ltr'

/** The locale of amounts. Countries with Arabic write digits in two ways; here they are those of codes, sizes, and addresses. */
export const numberLocale = (language: Language): string =>
  language === 'ar' ? 'ar-u-nu-latn' : language

/** The page's language for a tag such as `de-AT`, `pt_PT`, or `zh-TW`; undefined when there is none. */
export const languageOf = (tag: string): Language | undefined => {
  const [base] = tag.trim().toLowerCase().split(/[-_]/, 1)
  return TAGS.find(language => language.toLowerCase().split('-', 1)[0] === base)
}

/** The first language that the browser asks for (`Accept-Language`, RFC 9110) and the page has; English otherwise. */
export const preferredLanguage = (header: string | undefined): Language => {
  const preferences = (header ?? '').split(',').flatMap(part => {
    const [tag = '', ...parameters] = part.split(';')
    const quality = parameters.find(text => /^\s*q=/i.test(text))?.split('=')[1]
    const weight = quality === undefined ? 1 : Number(quality)
    return weight > 0 ? [{ tag, weight }] : []
  })
  for (const { tag } of preferences.toSorted((a, b) => b.weight - a.weight)) {
    const language = languageOf(tag)
    if (language) return language
  }
  return 'en'
}

/** The language of the page: the chosen one, or the first that the browser asks for. */
export const pageLanguage = (
  settings: { language: string; language_from: string },
  header: string | undefined,
): Language =>
  settings.language_from === 'browser'
    ? preferredLanguage(header)
    : (languageOf(settings.language) ?? 'en')
