/** Schedules in plain words of other languages than English. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Language } from '../../../lib/base/languages.ts'
import type { UserError } from '../../../lib/errors.ts'
import { readTranslation, TRANSLATED } from '../../../build/languages.ts'
import { toExactSchedule } from '../../../lib/cron/schedule-words.ts'
import { scheduleIn } from '../../../lib/cron/schedule-languages.ts'

const NOW = Date.parse('2026-03-28T20:00:00Z')
const ZONE = 'Europe/Berlin'
const test = suite('schedules in other languages')

test('leaves English, unknown languages and half-understood texts alone', async () => {
  for (const [language, text] of [
    ['en', 'weekdays at 9'],
    ['ar', 'غدا الساعة 9'],
    ['ko', '내일 9시'],
    ['de', 'weekdays at 9'],
    ['de', 'jeden zweiten montag um 9 uhr'],
    ['de', 'werktags um 9 uhr und 17 uhr'],
    ['de', 'täglich am montag um 9 uhr'],
    ['de', 'morgen um 9 uhr den bericht schreiben'],
    ['de', `${'morgen '.repeat(40)}um 9 uhr`],
    ['fr', 'chaque mois à 9h'],
    // chrono-node counts these from the time of the computer.
    ['zh-Hans', '2小时后'],
  ] as const)
    assert.is(await scheduleIn(language, text, NOW, ZONE), undefined, `${language}: ${text}`)
})

test('only a missing time is a problem of its own', async () => {
  for (const [language, text] of [
    ['de', 'täglich'],
    ['de', 'jeden Montag'],
    ['de', 'morgen'],
    ['ja', '毎日'],
    ['ru', 'завтра'],
  ] as const) {
    const error = await scheduleIn(language, text, NOW, ZONE).catch((cause: unknown) => cause)
    assert.is((error as UserError).code, 'schedule_needs_time', `${language}: ${text}`)
  }
})

/** In the page, or quoted in a message of the form. */
const examplesIn = (language: (typeof TRANSLATED)[number]): string[] => {
  const { error, tasks } = readTranslation(language)
  const codes = ['invalid_schedule', 'schedule_needs_day', 'schedule_needs_time'] as const
  const quoted = codes.flatMap(code =>
    [...String(error?.[code]).matchAll(/[“„«「]\s?([^“”„»」{}]+?)\s?[”“»」]/g)].map(
      ([, example]) => example!,
    ),
  )
  return [
    String(tasks?.['form.example.weekdays']),
    String(tasks?.['form.example.tomorrow']),
    ...quoted.filter(text => /\d/.test(text)),
  ]
}

test('every example in the page is understood in the language of the page', async () => {
  for (const language of TRANSLATED) {
    const examples = examplesIn(language)
    assert.ok(examples.length >= 8, `${language}: ${examples.length}`)
    for (const example of examples) {
      // As a preview of the form does.
      if (/^2026-02/.test(example)) continue
      const own = await scheduleIn(language, example, NOW, ZONE)
      assert.ok(await toExactSchedule(own ?? example, NOW, ZONE), `${language}: ${example}`)
      const isWord =
        /^\p{L}{5}|^\p{L}+ \p{L}|^[\p{Script=Han}]/u.test(example) && !/^every/.test(example)
      if (isWord && language !== 'ko' && language !== 'ar')
        assert.ok(own, `${language}: ${example} is English`)
    }
  }
})

/** Every day, on weekdays, on weekends, on Mondays, and tomorrow at 9:00, and December 24 at 18:00. */
const TEXTS: Readonly<Partial<Record<Language, readonly string[]>>> = {
  de: [
    'täglich um 9 Uhr',
    'Werktags um 9:00',
    'am Wochenende um 9 Uhr',
    'jeden Montag um 9 Uhr',
    'morgen um 9 Uhr',
    '24. Dezember um 18:00',
  ],
  ja: ['毎日9時', '平日の9時', '週末9時', '毎週月曜日9時', '明日9時', '12月24日18時'],
  ru: [
    'каждый день в 9:00',
    'по будням в 9:00',
    'по выходным в 9:00',
    'каждый понедельник в 9:00',
    'завтра в 9:00',
    '24 декабря в 18:00',
  ],
  'zh-Hans': ['每天9点', '工作日早上9点', '周末9点', '每周一9点', '明天9点', '12月24日18点'],
}
const EXACT = [
  '0 9 * * *',
  '0 9 * * 1-5',
  '0 9 * * 0,6',
  '0 9 * * 1',
  '2026-03-29T09:00',
  '2026-12-24T18:00',
]

for (const [language, texts] of Object.entries(TEXTS))
  test(`${language}: what repeats, and dates`, async () => {
    const found = await Promise.all(
      texts.map(text => scheduleIn(language as Language, text, NOW, ZONE)),
    )
    assert.equal(found, EXACT)
  })

test('a duration counts from now, across a change of the clock', async () => {
  assert.is(await scheduleIn('de', 'in 6 Stunden', NOW, ZONE), '2026-03-29T04:00:00+02:00')
})

test.run()
