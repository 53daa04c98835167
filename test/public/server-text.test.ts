/** What the server reports, in every language of the page: no English sentence is left where a translated one is possible. */
import { globSync, readFileSync, rmSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readTranslation, TRANSLATED } from '../../build/languages.ts'
import { hintFor } from '../../lib/agent/failure.ts'
import { toNetworkFailure } from '../../lib/agent/providers/http-post.ts'
import type { Language } from '../../lib/base/languages.ts'
import { describeNetworkError } from '../../lib/http/network-error.ts'
import { parseRule } from '../../lib/agent/permissions/rule.ts'
import { conflict, invalid, wordsOf } from '../../lib/errors.ts'
import { Sentence, SENTENCES, sentence, type Words } from '../../lib/base/sentences.ts'
import { toErrorReply } from '../../lib/http/error-reply.ts'
import { parseYaml } from '../../lib/store/yaml-values.ts'
import { isInvalid, parseServers } from '../../lib/mcp/config.ts'
import { routingOf } from '../../lib/models/routing.ts'
import { causeOfComplaint } from '../../lib/commands/sandbox/availability.ts'
import { workspaceProblem } from '../../lib/commands/sandbox/mounts.ts'
import { ERROR_CODES, type ErrorCode, GENERIC_CODES } from '../../lib/schema/error-code.ts'
import { FailureType } from '../../lib/schema/failure-type.ts'
import { fileReason } from '../../lib/store/file-error.ts'
import { TEXTS } from '../../public/strings/error-codes.ts'
import { causeText, replyText, serverText } from '../../public/strings/server-text.ts'
import { setLanguage } from '../../public/strings/t.ts'
import { tempDir } from '../_temp-dir.ts'

const test = suite('text of the server')

const SENTENCE = 'The server says something in English'
/** Of the class of a problem, of requests that no page makes, and of the setup of a proxy: the sentence says it all. */
const WITHOUT_TEXT: readonly ErrorCode[] = [
  ...GENERIC_CODES.filter(code => code !== 'internal_error' && code !== 'disk_full'),
  ...(['invalid_json', 'invalid_idempotency_key', 'idempotency_key_reused'] as const),
  ...(['cross_origin', 'host_not_allowed', 'own_program'] as const),
]

const inEach = (check: (language: Language) => void): void => {
  for (const language of TRANSLATED) {
    setLanguage(language, readTranslation(language))
    check(language)
  }
  setLanguage('en', {})
}

/** As the server sends it, with a value for every placeholder: a name, or a cause that has a code. */
const errorWith = (code: ErrorCode, text: string) => {
  const values = [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [
    name,
    /^(?:reason|problem|kind)$/.test(name) ? sentence('file.denied') : 'x1',
  ])
  return toErrorReply(invalid(SENTENCE, { code, values: Object.fromEntries(values) })).body
}

test('only codes that no person meets have no text', () => {
  assert.equal(
    ERROR_CODES.filter(code => TEXTS[code] === null).toSorted(),
    [...WITHOUT_TEXT].toSorted(),
  )
})

test('every error is in the language of the page: by its code, or as a quotation', () => {
  inEach(language => {
    for (const code of ERROR_CODES) {
      const text = TEXTS[code]
      const shown = replyText(errorWith(code, text ?? ''), SENTENCE)
      const wrong = `${language}: ${code}: ${shown}`
      if (text === null) {
        assert.ok(shown.includes(SENTENCE) && shown.length > SENTENCE.length + 4, wrong)
        continue
      }
      assert.not.ok(shown.includes(SENTENCE), wrong)
      assert.not.ok(shown.includes('permission denied'), wrong)
      assert.not.match(shown, /U\+20/, wrong)
      assert.not.ok(/[A-Za-z’]{3,} [a-z’]{2,} [a-z’]{3,} /.test(shown) && shown === text, wrong)
    }
  })
})

test('a cause of another program is quoted; English shows everything as it is', () => {
  const values = { folder: '/x', reason: 'no such thing' }
  inEach(language => {
    const shown = replyText({ code: 'folder_not_created', values }, SENTENCE)
    assert.match(shown, /(?:["“„«「])\s?\u2068?no such thing\u2069?\s?(?:["”“»」])/, language)
    assert.not.match(replyText({ code: 'invalid_request' }, SENTENCE), /^\w+ server says/i)
  })
  assert.is(
    replyText({ code: 'folder_not_created', values }, SENTENCE),
    'Couldn’t create /x: no such thing',
  )
  assert.is(replyText({ code: 'invalid_request' }, SENTENCE), SENTENCE)
})

test('a message whose values are missing is quoted, not left with its placeholders', () => {
  inEach(language => {
    const shown = replyText({ code: 'git_failed', values: {} }, SENTENCE)
    assert.ok(shown.includes(SENTENCE) && shown !== SENTENCE, language)
    assert.not.match(shown, /[{}]/)
  })
})

/** As a page shows what it gets. */
const inPage = (words: Words | null): string =>
  words instanceof Sentence ? serverText(words.text, words.coded) : (words ?? '')

const yamlProblem = (text: string): Words => {
  try {
    parseYaml(text)
  } catch (error) {
    return wordsOf(error)
  }
  throw new Error('it is accepted')
}

const withCode = (code: string) =>
  Object.assign(new Error(`${code}: as the system says it`), { code })

test('causes of the file system and of the network, and hints of failed turns, are translated', () => {
  const causes = [
    ...[
      'ENOENT',
      'ENOTDIR',
      'EISDIR',
      'EACCES',
      'EPERM',
      'ELOOP',
      'EROFS',
      'ENOSPC',
      'EDQUOT',
      'EIO',
    ]
      .map(withCode)
      .map(fileReason),
    ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ECONNRESET', 'UND_ERR_SOCKET', 'ABORT_ERR', 'X']
      .map(withCode)
      .map(describeNetworkError),
    ...[
      'ECONNREFUSED',
      'ENOTFOUND',
      'EAI_AGAIN',
      'ECONNRESET',
      'EPIPE',
      'ETIMEDOUT',
      'EHOSTUNREACH',
    ]
      .map(withCode)
      .map(error => wordsOf(toNetworkFailure(error, 'https://api.example/v1'))),
    ...FailureType.options.flatMap(type => hintFor(type) ?? []),
  ]
  assert.ok(causes.length > 30)
  inEach(language => {
    for (const cause of causes) {
      const shown = inPage(cause)
      assert.is.not(shown, `${cause}`, `${language}: ${cause}`)
      assert.not.match(
        shown.replace(/api\.example/, ''),
        /(?:connection|the host|name) \w+/,
        language,
      )
    }
  })
})

const FACTS = {
  appArmor: null,
  canClone: null,
  maxNamespaces: null,
  isContainer: false,
  isUnit: false,
}
const RULES = [
  ...[
    'x'.repeat(5_000),
    5,
    '(',
    'a b c',
    'bash(\u202e)',
    'edit()',
    'mcp__a__b(c)',
    'nothing_known',
  ],
  ...['web(example.org)', 'edit({a}{b}{c}{d}{e})', 'todo(x)', 'memory(x)', 'skills_list(x)'],
]
const ROUTING = [
  5,
  { nothing: 1 },
  { sort: 'x' },
  { only: { a: 1 } },
  { zdr: 'x' },
  { max_price: 1 },
]
const MORE_ROUTING = [{ data_collection: 'x' }, { preferred_min_throughput: 'x' }]

/** What a module gives as a cause, by what it is given. */
const causesOfModules = (): (Words | null)[] => {
  const complaint = 'bwrap: it says so'
  const sandbox = [
    { appArmor: 1 },
    { canClone: 0 },
    { maxNamespaces: 0 },
    { isContainer: true },
    { isUnit: true },
  ].map(facts => causeOfComplaint(complaint, { ...FACTS, ...facts }))
  const home = tempDir('place')
  const env = { HOME: home }
  const places = [
    workspaceProblem({ workspace: home, env, hidden: [] }),
    workspaceProblem({ workspace: home, env, hidden: [home] }),
    workspaceProblem({ workspace: '/tmp', env: {}, hidden: [] }),
  ]
  rmSync(home, { recursive: true })
  const rules = RULES.flatMap(rule => {
    const parsed = parseRule(rule)
    return parsed.ok ? [] : parsed.problem
  })
  const routing = [...ROUTING, ...MORE_ROUTING].map(provider_routing => {
    try {
      routingOf({ provider_routing } as never, 'openrouter', 'https://openrouter.ai')
    } catch (error) {
      return wordsOf(error)
    }
    throw new Error(`${JSON.stringify(provider_routing)} is accepted`)
  })
  const servers = [{}, { url: 'ftp://x' }].flatMap(entry => {
    const server = parseServers({ mcp_servers: { a: entry } } as never)[0]!
    return isInvalid(server) ? server.problem : []
  })
  assert.ok(rules.length >= 10, `${rules.length}`)
  return [...sandbox, ...places, ...rules, ...routing, ...servers]
}

test('what our modules say about a sandbox, a rule, and a value of config.yaml is translated; words of programs stay quoted', () => {
  const causes = causesOfModules()
  inEach(language => {
    for (const cause of causes) assert.is.not(inPage(cause), `${cause}`, `${language}: ${cause}`)
    const reason = sentence('sandbox.bwrap', {
      reason: causeOfComplaint('bwrap: it says so', { ...FACTS, isUnit: true }),
    })
    const values = { reason }
    const refused = conflict(reason, { code: 'sandbox_unavailable', values })
    const shown = replyText(toErrorReply(refused).body, SENTENCE)
    assert.match(shown, /(?:["“„«「])\s?\u2068?bwrap: it says so\u2069?\s?(?:["”“»」])/, language)
    assert.not.match(shown, /sandbox doesn|forbids|U\+20/, language)
  })
})

test('every sentence with a code is used by the server', () => {
  const code = globSync('{lib,handlers}/**/*.ts')
    .filter(path => !path.endsWith('base/sentences.ts'))
    .map(path => readFileSync(path, 'utf8'))
    .join('\n')
  const isUsed = (name: string) => code.includes(`'${name}'`) || name.startsWith('budget.')
  assert.equal(
    Object.keys(SENTENCES).filter(name => !isUsed(name)),
    [],
  )
})

test('a sentence that the page does not know, or that lacks a value, is shown as it is', () => {
  setLanguage('de', readTranslation('de'))
  try {
    for (const coded of [undefined, { code: 'new.one' }, { code: 'turn.stalled' }])
      assert.is(serverText('It stopped.', coded), 'It stopped.')
    assert.is(causeText('It stopped.', undefined), '„It stopped.“')
  } finally {
    setLanguage('en', {})
  }
})

test('the words of a failed turn are in the language of the page, with their names, and those of a provider stay', () => {
  setLanguage('de', readTranslation('de'))
  const slip = { file: 'config.yaml', key: 'model.base-url', name: 'base_url' }
  try {
    for (const [words, shown] of [
      [
        sentence('turn.no_response_from', {
          host: 'api.example:8080',
          reason: sentence('net.refused'),
        }),
        'Keine Antwort von api.example:8080: Verbindung abgelehnt',
      ],
      [
        wordsOf(invalid('x', { code: 'provider_misspelled', values: slip })),
        '„model.base-url“ in config.yaml ist keine Einstellung. Meintest du „base_url“? Korrigiere das zuerst: Solange der Anbieter unklar ist, wird nichts gesendet.',
      ],
      [
        wordsOf(invalid('x', { code: 'key_missing', values: { name: 'OpenAI' } })),
        'OpenAI hat keinen API-Schlüssel. Füge einen hinzu, oder wähle ein anderes Modell.',
      ],
      [
        sentence('turn.other_model', {
          model: 'openai/gpt-5',
          reason: sentence('why.rate_limit'),
          other: 'anthropic/claude',
        }),
        'openai/gpt-5: Anfragelimit erreicht; weiter mit anthropic/claude.',
      ],
      [yamlProblem('a: b\n\n\tc: d'), 'Zeile 3: Tabulatoren sind als Einrückung nicht erlaubt'],
      [yamlProblem('\na: 1\nb: 2\na: 3'), 'Zeile 4: „a“ steht zweimal da (zuerst in Zeile 2)'],
      [sentence('yaml.line', { line: 4, reason: 'Implicit keys' }), 'Zeile 4: „Implicit keys“'],
      ['The provider says: no.', 'The provider says: no.'],
    ] as const)
      assert.is(inPage(words), shown)
  } finally {
    setLanguage('en', {})
  }
})

test.run()
