/** Schedules in plain words of other languages than English: dates and times by chrono-node, what repeats by the words below. */
import { oneLine } from '../base/shorten.ts'
import type { Language } from '../base/languages.ts'
import { offsetMinutes, toIso } from '../base/time-zone.ts'
import { needsTime } from './schedule-words.ts'

type Chrono = typeof import('chrono-node/en')
type Words = {
  load: () => Promise<Pick<Chrono, 'parse'>>
  /** The whole phrase, without what follows: the time, or the weekday and the time. */
  daily: RegExp
  weekdays: RegExp
  weekend: RegExp
  /** Before a weekday. */
  every: RegExp
  /** What may be left of a text besides what was understood. */
  filler: RegExp
  /** Forms that chrono-node counts from the time of this computer instead of the given one. */
  unsure?: RegExp
}

/** Each is loaded when needed: they are large, and most services never parse such a schedule. */
const WORDS: Readonly<Partial<Record<Language, Words>>> = {
  de: {
    load: () => import('chrono-node/de'),
    daily: /^(?:täglich|jeden tag)\b/,
    weekdays: /^(?:werktags|wochentags|an werktagen|unter der woche|montag bis freitag)\b/,
    weekend: /^(?:am wochenende|jedes wochenende|wochenends)\b/,
    every: /^(?:jeden|immer)\b/,
    filler: /\b(?:um|am|uhr)\b/g,
  },
  es: {
    load: () => import('chrono-node/es'),
    daily: /^(?:todos los días|cada día|diariamente)/,
    weekdays: /^(?:(?:los )?días (?:laborables|hábiles)|de lunes a viernes|entre semana)\b/,
    weekend: /^(?:(?:los )?fines de semana|cada fin de semana)\b/,
    every: /^(?:todos los|cada|los)\b/,
    filler: /(?<!\p{L})(?:a|las?|el)(?!\p{L})/gu,
  },
  fr: {
    load: () => import('chrono-node/fr'),
    daily: /^(?:tous les jours|chaque jour|quotidiennement)\b/,
    weekdays: /^(?:en semaine|les jours ouvrés|les jours ouvrables|du lundi au vendredi)(?!\p{L})/u,
    weekend: /^(?:le week-?end|les week-?ends|chaque week-?end)\b/,
    every: /^(?:tous les|chaque|le)\b/,
    filler: /(?<!\p{L})(?:à|le)(?!\p{L})/gu,
  },
  ja: {
    load: () => import('chrono-node/ja'),
    daily: /^毎日/,
    weekdays: /^(?:平日|月曜(?:日)?から金曜(?:日)?まで)/,
    weekend: /^(?:週末|毎週末|土日)/,
    every: /^毎週/,
    filler: /[のにはへ]/g,
  },
  'pt-BR': {
    load: () => import('chrono-node/pt'),
    daily: /^(?:todos os dias|todo dia|diariamente)\b/,
    weekdays: /^(?:(?:em |nos )?dias úteis|de segunda a sexta|durante a semana)(?!\p{L})/u,
    weekend: /^(?:(?:nos |aos )?fins de semana|(?:no |todo )?fim de semana)\b/,
    every: /^(?:todas? as|toda|todos? os|todo|cada)\b/,
    filler: /(?<!\p{L})(?:às|as|à|a|na|no)(?!\p{L})/gu,
  },
  ru: {
    load: () => import('chrono-node/ru'),
    daily: /^(?:каждый день|ежедневно)/,
    weekdays: /^(?:по будням|в будни|по рабочим дням|каждый будний день)/,
    weekend: /^(?:по выходным|в выходные)/,
    every: /^(?:каждый|каждую|каждое)/,
    filler: /(?<!\p{L})(?:в|во)(?!\p{L})/gu,
  },
  'zh-Hans': {
    load: () => import('chrono-node/zh'),
    daily: /^(?:每天|每日)/,
    weekdays: /^(?:每个)?(?:工作日|平日)/,
    weekend: /^(?:每个)?周末/,
    every: /^每(?:个)?(?=周|星期|礼拜)/,
    filler: /[的在]/g,
    unsure: /[后內内後]/,
  },
}

type Moment = ReturnType<Chrono['parse']>[number]['start']

/** The one date or time that the whole text is about. */
const read = (
  parse: Chrono['parse'],
  { filler }: Words,
  text: string,
  now: number,
  zone: string,
): Moment | undefined => {
  const reference = { instant: new Date(now), timezone: offsetMinutes(now, zone) }
  const [result, ...others] = parse(text, reference, { forwardDate: true })
  if (!result || result.end || others.length > 0) return undefined
  const rest = text
    .replace(result.text, '')
    .replace(filler, '')
    .replace(/[\s,.、，。]/g, '')
  if (rest !== '') return undefined
  if (!result.start.isCertain('hour')) throw needsTime()
  return result.start
}

/** The cron fields for day of month, month, and weekday of a phrase that begins with what repeats, and the rest of it. */
const repeated = (
  words: Words,
  text: string,
): { days: string | null; rest: string } | undefined => {
  for (const [pattern, days] of [
    [words.daily, '* * *'],
    [words.weekdays, '* * 1-5'],
    [words.weekend, '* * 0,6'],
    [words.every, null],
  ] as const) {
    const [phrase] = pattern.exec(text) ?? []
    if (phrase !== undefined) return { days, rest: text.slice(phrase.length).trim() }
  }
  return undefined
}

/**
 * A schedule in one of the exact forms of `parseSchedule`, for a text in this language. Undefined when it is not understood,
 * or when the language is English or has no parser. Throws UserError when only the time is missing. `now`: milliseconds since 1970.
 */
export const scheduleIn = async (
  language: Language,
  input: string,
  now: number,
  zone: string,
): Promise<string | undefined> => {
  const words = WORDS[language]
  const text = oneLine(input).toLowerCase()
  if (!words || text.length > 200 || words.unsure?.test(text)) return undefined
  const { parse } = await words.load()
  const repeats = repeated(words, text)
  if (repeats) {
    if (repeats.rest === '' && repeats.days !== null) throw needsTime()
    const moment = read(parse, words, repeats.rest, now, zone)
    const isDay = moment?.isCertain('weekday') ?? false
    if (!moment || isDay !== (repeats.days === null)) return undefined
    const days = repeats.days ?? `* * ${moment.get('weekday')}`
    return `${moment.get('minute') ?? 0} ${moment.get('hour')} ${days}`
  }
  const moment = read(parse, words, text, now, zone)
  if (!moment) return undefined
  // A duration from now, or a zone in the text.
  if (moment.isCertain('timezoneOffset')) return toIso(moment.date().getTime(), zone)
  const [year, month, day, hour, minute] = (
    ['year', 'month', 'day', 'hour', 'minute'] as const
  ).map(part => String(moment.get(part) ?? 0).padStart(2, '0'))
  return `${year}-${month}-${day}T${hour}:${minute}`
}
