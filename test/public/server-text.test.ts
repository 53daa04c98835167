/** What the server reports, in every language of the page: no English sentence is left where a translated one is possible. */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readTranslation, TRANSLATED } from '../../build/languages.ts'
import { hintFor } from '../../lib/agent/failure.ts'
import { toNetworkFailure } from '../../lib/agent/providers/http-post.ts'
import type { Language } from '../../lib/base/languages.ts'
import { describeNetworkError } from '../../lib/http/network-error.ts'
import { parseRule } from '../../lib/agent/permissions/rule.ts'
import type { UserError } from '../../lib/errors.ts'
import { isInvalid, parseServers } from '../../lib/mcp/config.ts'
import { routingOf } from '../../lib/models/routing.ts'
import { causeOf } from '../../lib/commands/sandbox/availability.ts'
import { workspaceProblem } from '../../lib/commands/sandbox/mounts.ts'
import { ERROR_CODES, type ErrorCode, GENERIC_CODES } from '../../lib/schema/error-code.ts'
import { FailureType } from '../../lib/schema/failure-type.ts'
import { fileReason } from '../../lib/store/file-error.ts'
import { TEXTS } from '../../public/strings/error-codes.ts'
import { SAME, SENTENCES } from '../../public/strings/server-strings.ts'
import { CODED, replyText, serverText } from '../../public/strings/server-text.ts'
import { setLanguage } from '../../public/strings/t.ts'

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

/** Values for every placeholder: a name, a cause that the page knows, and one of another program. */
const valuesOf = (text: string, cause: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [
      name,
      /^(?:reason|problem|kind)$/.test(name) ? cause : 'x1',
    ]),
  )

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
      const shown = replyText(code, valuesOf(text ?? '', 'permission denied'), SENTENCE)
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
    const shown = replyText('folder_not_created', values, SENTENCE)
    assert.match(shown, /(?:["“„«「])\s?\u2068?no such thing\u2069?\s?(?:["”“»」])/, language)
    assert.not.match(replyText('invalid_request', {}, SENTENCE), /^\w+ server says/i)
  })
  assert.is(replyText('folder_not_created', values, SENTENCE), 'Couldn’t create /x: no such thing')
  assert.is(replyText('invalid_request', {}, SENTENCE), SENTENCE)
})

test('a message whose values are missing is quoted, not left with its placeholders', () => {
  inEach(language => {
    const shown = replyText('git_failed', {}, SENTENCE)
    assert.ok(shown.includes(SENTENCE) && shown !== SENTENCE, language)
    assert.not.match(shown, /[{}]/)
  })
})

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
      .map(error => toNetworkFailure(error, 'https://api.example/v1').message),
    ...FailureType.options.flatMap(type => hintFor(type) ?? []),
  ]
  assert.ok(causes.length > 30)
  inEach(language => {
    for (const cause of causes) {
      const shown = serverText(cause)
      assert.is.not(shown, cause, `${language}: ${cause}`)
      assert.not.match(
        shown.replace(/api\.example/, ''),
        /(?:connection|the host|name) \w+/,
        language,
      )
    }
  })
})

const INSTALL =
  'Install the package bubblewrap (apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap)'
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

/** Sentences that one module gives as a cause, by what it is given; and in code that needs another program, by their text. */
const causesOfModules = (): string[] => {
  const complaint = 'bwrap: it says so'
  const sandbox = [
    { appArmor: 1 },
    { canClone: 0 },
    { maxNamespaces: 0 },
    { isContainer: true },
    { isUnit: true },
  ].map(facts => causeOf(complaint, { ...FACTS, ...facts }))
  const home = mkdtempSync(join(tmpdir(), 'place-'))
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
      return (error as UserError).message
    }
    throw new Error(`${JSON.stringify(provider_routing)} is accepted`)
  })
  const servers = [{}, { url: 'ftp://x' }].flatMap(entry => {
    const server = parseServers({ mcp_servers: { a: entry } } as never)[0]!
    return isInvalid(server) ? server.problem : []
  })
  const thrown = globSync('lib/commands/{containers,sandbox}/*.ts').flatMap(path =>
    [
      ...readFileSync(path, 'utf8').matchAll(
        /(?:unavailable|conflict|unreachable)\((?:\s*engine,)?\s*(?:wanted === 'docker'\s*\? )?(['`])((?:(?!\1).)+)\1|problem: ([`'])((?:(?!\3).)+)\3/g,
      ),
    ].map(([, , text, , problem]) =>
      (text ?? problem ?? '')
        .replace(/\$\{INSTALL\}/, INSTALL)
        .replace(/\$\{(?:[^{}]|\{[^}]*\})*\}/g, '17'),
    ),
  )
  assert.ok(rules.length >= 10 && thrown.length >= 12, `${rules.length}, ${thrown.length}`)
  return [...sandbox, ...places.map(String), ...rules, ...routing, ...servers, ...thrown]
}

test('what our modules say about a sandbox, a container, a rule, and a value of config.yaml is translated; words of programs stay quoted', () => {
  const causes = causesOfModules()
  inEach(language => {
    for (const cause of causes) assert.is.not(serverText(cause), cause, `${language}: ${cause}`)
    const why = `The sandbox doesn't work here: bwrap can't start: ${causeOf('bwrap: it says so', { ...FACTS, isUnit: true })}.`
    const shown = replyText('sandbox_unavailable', { reason: why }, SENTENCE)
    assert.match(shown, /(?:["“„«「])\s?\u2068?bwrap: it says so\u2069?\s?(?:["”“»」])/, language)
    assert.not.match(shown, /sandbox doesn|forbids|U\+20/, language)
  })
})

test('every sentence that the page recognizes is one of the server', () => {
  const code = globSync('lib/**/*.ts')
    .map(path => readFileSync(path, 'utf8'))
    .join('\n')
    .replaceAll("\\'", "'")
  const lost = [...SENTENCES, ...Object.keys(SAME), ...CODED.map(([sentence]) => sentence)].filter(
    sentence =>
      sentence
        .split(/\{\w+\}|(?<=[:.?]) /)
        .map(part => part.trim().replace(/\.$/, ''))
        .some(part => part.length > 3 && !code.includes(part)),
  )
  assert.equal(lost, [])
})

test('a long text of a provider takes no time, and stays as it is', () => {
  setLanguage('de', readTranslation('de'))
  try {
    const long = 'a: b is c, '.repeat(100_000)
    assert.is(serverText(long), long)
  } finally {
    setLanguage('en', {})
  }
})

test('sentences of a failed turn are read back with their names', () => {
  setLanguage('de', readTranslation('de'))
  try {
    for (const [sentence, shown] of [
      [
        'No response from api.example:8080: the connection was refused',
        'Keine Antwort von api.example:8080: Verbindung abgelehnt',
      ],
      [
        'config.yaml: model.base-url is not a setting; did you mean "base_url"? Fix it first: no request is sent while the provider is unclear.',
        '„model.base-url“ in config.yaml ist keine Einstellung. Meintest du „base_url“? Korrigiere das zuerst: Solange der Anbieter unklar ist, wird keine Anfrage gesendet.',
      ],
      [
        'OpenAI has no API key. Add OPENAI_API_KEY to .env, or pick another model.',
        'OpenAI hat keinen API-Schlüssel. Füge einen hinzu, oder wähle ein anderes Modell.',
      ],
      [
        'openai/gpt-5 is rate limited; continuing with anthropic/claude.',
        'openai/gpt-5: Anfragelimit erreicht; weiter mit anthropic/claude.',
      ],
      [
        'line 3: tabs cannot be used as indentation',
        'Zeile 3: Tabulatoren sind als Einrückung nicht erlaubt',
      ],
      [
        'line 9: "a" is there twice (first in line 2)',
        'Zeile 9: „a“ steht zweimal da (zuerst in Zeile 2)',
      ],
      ['line 4: Implicit keys', 'Zeile 4: „Implicit keys“'],
      ['The provider says: no.', 'The provider says: no.'],
    ])
      assert.is(serverText(sentence!), shown)
  } finally {
    setLanguage('en', {})
  }
})

test.run()
