/** Languages of the page: the one a browser gets, and complete translations. */
import { globSync, readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  checkTranslation,
  flatten,
  readEnglish,
  readTranslation,
  TRANSLATED,
} from '../build/languages.ts'
import { reasonFields, stakesOf } from '../lib/agent/reasons.ts'
import { languageOf, preferredLanguage } from '../lib/base/languages.ts'
import { translatorFor } from '../lib/notifications/texts/translate.ts'
import { scheduleWords } from '../public/features/tasks/schedule-words.ts'
import { formatCost, formatTokens } from '../public/parts/amounts.ts'
import { joinSentences } from '../public/strings/join-sentences.ts'
import { formatFull } from '../public/parts/relative-time.ts'
import { describeToolCall } from '../public/features/tool-calls/describe-tool-call.ts'
import { formatBytes } from '../public/parts/file-kind.ts'
import { whyAsked } from '../public/features/approvals/stake-strings.ts'
import {
  listOf,
  type Message,
  type Messages,
  pageLocale,
  setLanguage,
  translator,
  visibleMessage,
} from '../public/strings/t.ts'
import { labelPairs } from './_label-names.ts'

const test = suite('languages')

const sourceOf = (message: Message): string =>
  typeof message === 'string' ? message : message.other

/** Without letter case and signs. */
const bare = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[\p{P}\p{S}\p{Cf}]/gu, '')
    .replace(/\s+/g, ' ')
    .trim()
const contains = (name: string, shown: string): boolean => bare(name).includes(bare(shown))

test('a tag without a translation has no language', () => {
  for (const tag of ['', '*', 'nl', 'x', 'deutsch', '-de'])
    assert.is(languageOf(tag), undefined, tag)
})

test('regional and script variants have the language of their base', () => {
  for (const [tag, language] of [
    ['de', 'de'],
    ['de-AT', 'de'],
    ['DE_ch', 'de'],
    ['pt', 'pt-BR'],
    ['pt-PT', 'pt-BR'],
    ['zh-CN', 'zh-Hans'],
    ['en-GB', 'en'],
  ])
    assert.is(languageOf(tag!), language, tag)
})

test('the browser’s order and weights decide; unknown and refused languages are skipped', () => {
  for (const [header, language] of [
    [undefined, 'en'],
    ['', 'en'],
    ['nl,sv;q=0.8', 'en'],
    ['nl,fr;q=0.5,de;q=0.9', 'de'],
    ['de;q=0,fr', 'fr'],
    ['en;q=0.3, ja ; q=0.7', 'ja'],
    ['*;q=0.5', 'en'],
    ['de;q=x,ko;q=0.1', 'ko'],
  ] as const)
    assert.is(preferredLanguage(header), language, header)
})

/** Not below a name: facts, placeholders, and what can be begun with. */
const NO_SENTENCES =
  /^(?:home\/|settings\/allowed\.hint$|approvals\/ask\.answer\.hint$|plan\/plan\.comment\.hint$)/

test('a hint ends with a full stop, in every language', async () => {
  const english = flatten(await readEnglish())
  const hints = Object.keys(english).filter(id => /\.hint$/.test(id) && !NO_SENTENCES.test(id))
  assert.ok(hints.length > 50)
  const texts = [english, ...TRANSLATED.map(language => flatten(readTranslation(language)))]
  const open = texts.flatMap(messages =>
    hints.flatMap(id =>
      /[.?!。？！؟]["”»』」)]?$/.test(sourceOf(messages[id]!)) ? [] : [messages[id]],
    ),
  )
  assert.equal(open, [])
})

test('a check names what a translation lacks, and what is wrong with it', () => {
  const english: Messages = {
    'a/save': 'Save',
    'a/open': 'Open {name}',
    'a/files': { one: '{count} file in {name}', other: '{count} files in {name}' },
    'b/gone': 'Gone',
    'b/read': 'Read[ {object}]',
  }
  const report = checkTranslation(
    english,
    {
      'a/save': ' ',
      'a/open': 'Открыть',
      'a/files': { one: '{count} файл в {name}', other: '{count} файла в {name}' },
      'b/old': 'Старый',
      'b/read': 'Прочитано: {object}',
    },
    'ru',
  )
  assert.equal(Object.keys(report.missing), ['b/gone'])
  assert.equal(report.obsolete, ['b/old'])
  assert.equal(Object.keys(report.wrong), ['a/save', 'a/open', 'a/files', 'b/read'])
  assert.match(report.wrong['a/files']!, 'few, many')
})

/** Where they say something else: what one searches the palette for, and what a program sends over HTTP. */
const OTHER_MEANING =
  /^palette\.words\/|^notifications\/notify\.url\.webhook$|^stake\/request to this service$|^(?:approvals\/ask|settings\/allowed)\.(?:any|shown|every)\.requests$/

test('the page says chat, message, answer, and step, and no other word for them', async () => {
  const wrong = Object.entries(flatten(await readEnglish())).flatMap(([key, message]) => {
    if (OTHER_MEANING.test(key)) return []
    const texts = typeof message === 'string' ? [message] : Object.values(message)
    return texts
      .filter(text => {
        const bare = text.replace(/\bturn(?:s|ed|ing)? (?:\S+ ){0,3}?(?:on|off)\b/gi, '')
        return /\b(?:turns?|responses?|requests?|sessions?|conversations?)\b|calls? denied/i.test(
          bare,
        )
      })
      .map(text => `${key}: ${text}`)
  })
  assert.equal(wrong, [])
})

for (const language of TRANSLATED)
  test(`${language}: every message is translated, with its placeholders and plural forms`, async () => {
    const translated = flatten(readTranslation(language))
    const report = checkTranslation(flatten(await readEnglish()), translated, language)
    assert.equal(report, { missing: {}, obsolete: [], wrong: {} })
  })

test('the name of a button contains the text that it shows: who speaks to the browser says what they see', async () => {
  const english = flatten(await readEnglish())
  const byId = Map.groupBy(Object.keys(english), key => key.slice(key.indexOf('/') + 1))
  const pairs = globSync('public/**/*.tsx')
    .flatMap(path => labelPairs(readFileSync(path, 'utf8'), [...byId.keys()]))
    .flatMap(({ label, text }) =>
      byId.get(label)!.flatMap(name => byId.get(text)!.map(shown => [name, shown] as const)),
    )
    // Not so in English: the text is one of another state of the button.
    .filter(([name, shown]) => contains(sourceOf(english[name]!), sourceOf(english[shown]!)))
  assert.ok(pairs.length > 25, `${pairs.length}`)
  for (const language of TRANSLATED) {
    const messages = flatten(readTranslation(language))
    const wrong = pairs
      .map(pair => pair.map(key => sourceOf(messages[key]!)))
      .filter(([name = '', shown = '']) => !contains(name, shown))
    assert.equal(wrong, [], language)
  }
})

test('plural forms and numbers are those of the language; the same English text may have two translations', () => {
  const t = translator('test', {
    'test.files': { one: '{count} file', other: '{count} files' },
    'test.open': 'Open',
    'test.state': 'Open',
    'test.none': 'Not translated',
  })
  setLanguage('ru', {
    test: {
      'test.files': {
        one: '{count} файл',
        few: '{count} файла',
        many: '{count} файлов',
        other: '{count} файла',
      },
      'test.open': 'Открыть',
      'test.state': 'Открыт',
    },
  })
  try {
    assert.is(t('test.files', { count: 1 }), '1 файл')
    assert.is(t('test.files', { count: 22 }), '22 файла')
    assert.is(t('test.files', { count: 12_345 }), '12\u00a0345 файлов')
    assert.is(t('test.open'), 'Открыть')
    assert.is(t('test.state'), 'Открыт')
    assert.is(t('test.none'), 'Not translated')
  } finally {
    setLanguage('en', {})
  }
})

test('the reasons of an approval are translated by their codes; the words of a rule stay', () => {
  const rule = 'Asked because of the rule “a”.'
  const labels = ['fork bomb', 'recursive delete', 'SQL DROP', 'disk copy', 'x', 'y']
  const reaches = { command: 'npm install', place: 'nas.example:8080', address: '10.0.0.5' }
  const asked = reasonFields(rule, ...stakesOf(labels), { reaches })
  setLanguage('de', readTranslation('de'))
  try {
    assert.is(
      whyAsked(asked),
      'Asked because of the rule “a”. Startet Kopien von sich selbst, bis der Computer nicht mehr reagiert. Löscht Ordner mit ihrem gesamten Inhalt. Löscht eine Tabelle oder eine Datenbank. Kopiert Rohdaten mit dd und überschreibt das Ziel. 2 weitere Gründe für die Rückfrage. „npm install“ will nas.example:8080 erreichen: 10.0.0.5 in deinem eigenen Netzwerk.',
    )
    // Of another program, or of a server that sends no codes.
    assert.is(
      whyAsked({ description: 'It deletes a table or a database.' }),
      'It deletes a table or a database.',
    )
  } finally {
    setLanguage('en', {})
  }
  assert.is(whyAsked(asked), asked.description.replace('`npm install`', '“npm install”'))
  // A newer server knows reasons that this page does not.
  const newer = { description: 'It is new.', reasons: [{ stake: 'new' }, { text: rule }] }
  assert.is(whyAsked(newer), newer.description)
})

test('a name in a sentence from right to left keeps its own direction', () => {
  const t = translator('test', { 'test.in': 'in {path}' })
  setLanguage('ar', { test: { 'test.in': 'في {path}' } })
  try {
    assert.is(t('test.in', { path: '/tmp' }), 'في \u2068/tmp\u2069')
  } finally {
    setLanguage('en', {})
  }
})

test('Arabic: a message inside of another, in a list, or in a toast shows none of its marks; a name shows those that are hidden in it', () => {
  const t = translator('test', {
    'test.in': 'in {path}',
    'test.why': '“{name}” failed',
    'test.at': 'once at {time}',
  })
  setLanguage('ar', {
    ...readTranslation('ar'),
    test: {
      'test.in': 'في {path}',
      'test.why': 'فشل «{name}»',
      'test.at': 'مرة واحدة، في {time}',
    },
  })
  try {
    const inner = t('test.in', { path: '/tmp' })
    const moment = { kind: 'once', run_at: '2026-11-24T09:00' }
    for (const text of [
      t('test.in', { path: inner }),
      t('test.in', { path: t('test.in', { path: inner }) }),
      t('test.in', { path: [inner, inner] }),
      t('test.in', { path: listOf([inner, 'b']) }),
      t('test.in', { path: joinSentences(inner, inner) }),
      t('test.at', { time: formatFull(1_770_000_000) }),
      t('test.at', { time: formatCost(-1.5) }),
      t('test.at', { time: scheduleWords(moment, '') }),
      visibleMessage(inner),
      whyAsked(reasonFields('“zed” is not a program known to be harmless.')),
    ])
      assert.not.match(text, /U\+/)
    for (const name of ['a\u2068b\u2069', 'a\u200f', `${inner}\u2069`])
      for (const text of [t('test.in', { path: name }), visibleMessage(name)])
        assert.match(text, /⟨U\+20/)
  } finally {
    setLanguage('en', {})
  }
})

test('Arabic: digits are the same in counts, dates, amounts, and notifications, whatever country the browser names', () => {
  const t = translator('test', { 'test.count': '{count} of {total}' })
  const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator')!
  try {
    for (const tag of ['ar', 'ar-EG', 'ar-MA', 'ar-SA-u-ca-gregory']) {
      Object.defineProperty(globalThis, 'navigator', {
        value: { languages: [tag] },
        configurable: true,
      })
      setLanguage('ar', {})
      for (const text of [
        t('test.count', { count: 3, total: 1_234 }),
        ...[formatFull(1_770_000_000), formatCost(1.5), formatBytes(2_500), formatTokens(12_345)],
        translatorFor('ar')('tokens', { count: 12 }),
      ])
        assert.match(text, /^[^\u0660-\u0669\u06f0-\u06f9]*$/, tag)
    }
  } finally {
    Object.defineProperty(globalThis, 'navigator', before)
    setLanguage('en', {})
  }
})

test('a language orders the words around the object of a tool call, and several names are a list of it', () => {
  const args = { path: 'a.ts' }
  const pages = { urls: ['https://a.example/x', 'https://b.example/y'] }
  setLanguage('de', readTranslation('de'))
  try {
    const { did, does, object } = describeToolCall('read_file', args)
    assert.equal(
      [did, does],
      [
        { before: '', after: ' gelesen' },
        { before: 'Liest ', after: '' },
      ],
    )
    assert.is(object, 'a.ts')
    assert.equal(describeToolCall('read_file', {}).did, { before: 'Gelesen', after: '' })
    assert.equal(describeToolCall('web_search', { query: 'x' }).did, {
      before: 'Im Web nach „',
      after: '“ gesucht',
    })
    assert.is(describeToolCall('web_extract', pages).object, 'a.example und b.example')
    assert.is(describeToolCall('read_file', { path: 'a\u202eb' }).object, 'a⟨U+202E⟩b')
  } finally {
    setLanguage('en', {})
  }
})

test('sizes and times are those of the language', () => {
  const at = Date.UTC(2026, 1, 3, 12) / 1_000
  setLanguage('fr', {})
  try {
    assert.equal(
      [999, 1_500].map(size => formatBytes(size).replace(/\s/g, ' ')),
      ['999 octets', '1,5 ko'],
    )
    assert.match(formatFull(at), /3 févr\. 2026/)
  } finally {
    setLanguage('en', {})
  }
})

test('a locale that Intl rejects is not used for dates', () => {
  const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator')!
  const locale = (...languages: string[]) => {
    Object.defineProperty(globalThis, 'navigator', { value: { languages }, configurable: true })
    setLanguage('en', {})
    return pageLocale()
  }
  try {
    assert.is(locale('de-DE', 'en-US@posix', 'en-GB'), 'en-GB')
    assert.is(locale('en-US@posix'), 'en')
  } finally {
    Object.defineProperty(globalThis, 'navigator', before)
  }
})

test('Arabic: a code that begins or ends with a sign keeps its direction', () => {
  const isolated = /\u2066[^\u2066\u2069]*\u2069/g
  // `.env`, `/backups`, `edit(src/**)`, `https://`; after a letter of Latin script or between two of them, the direction is clear.
  const unclear = /(?<![\w./:\u200e-])[.~/]\w|\w\([^)]*\)|:\/\/(?![\w\u200e])/
  const texts = Object.values(flatten(readTranslation('ar'))).flatMap(message =>
    typeof message === 'string' ? [message] : Object.values(message),
  )
  assert.equal(
    texts
      .filter(text => /[\u0600-\u06ff]/.test(text))
      .filter(text => unclear.test(text.replace(isolated, '').replace(/`[^`]*`/g, ''))),
    [],
  )
})

test('Korean: one level of politeness in all sentences (해요체)', () => {
  const formal = /(?:니다|니까|십시오)(?=[^가-힣]|$)/
  const texts = [
    ...Object.values(flatten(readTranslation('ko'))).flatMap(message =>
      typeof message === 'string' ? [message] : Object.values(message),
    ),
    readFileSync('lib/notifications/texts/ko.ts', 'utf8'),
    ...globSync('lib/people/*.ts').map(path => readFileSync(path, 'utf8')),
  ]
  assert.equal(
    texts.filter(text => formal.test(text)),
    [],
  )
})

test.run()
