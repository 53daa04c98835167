/** Secrets known by their value: found however programs write them; what could be an ordinary word is left alone. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../../lib/base/clock.ts'
import { Homes } from '../../../../lib/profiles/homes.ts'
import { KnownSecrets } from '../../../../lib/profiles/known-secrets.ts'
import {
  redact,
  redactJsonLine,
  redactKnown,
  refreshSecrets,
  reveal,
  suspectOffsets,
  unusableCommand,
  watchSecrets,
} from '../../../../lib/base/redact/redact.ts'
import { Finder } from '../../../../lib/base/redact/spans.ts'
import { isDistinctive } from '../../../../lib/base/redact/spellings.ts'
import { KNOWN, SHAPED } from './_secrets.ts'
import { tempDir } from '../../../_temp-dir.ts'

const test = suite('known secrets')

const withKnown = (values: readonly string[], run: () => void): void => {
  const stop = watchSecrets(() => values)
  try {
    run()
  } finally {
    stop()
  }
}

const WRITINGS: Record<string, (secret: string) => string> = {
  raw: secret => secret,
  json: secret => JSON.stringify(secret).slice(1, -1),
  'json twice': secret => JSON.stringify(JSON.stringify({ a: secret })),
  url: secret => encodeURIComponent(secret),
  form: secret => new URLSearchParams({ a: secret }).toString(),
  base64: secret => Buffer.from(secret).toString('base64'),
  'base64, one byte before': secret => Buffer.from(`x${secret}y`).toString('base64'),
  'base64, two bytes before': secret => Buffer.from(`xy${secret}z`).toString('base64url'),
  hex: secret => Buffer.from(secret).toString('hex'),
  'hex in capitals': secret => Buffer.from(secret).toString('hex').toUpperCase(),
  'base64 in lines': secret =>
    Buffer.from(`before ${secret} after`).toString('base64').replace(/.{20}/g, '$&\n'),
  'base64 in lines, in JSON': secret =>
    JSON.stringify(
      Buffer.from(`before ${secret} after`).toString('base64').replace(/.{19}/g, '$&\r\n'),
    ),
  colored: secret => `\u001b[01;31m${secret.slice(0, 5)}\u001b[m\u001b[K${secret.slice(5)}`,
}
/** Too short to be recognized with other characters inside. */
const needsLength = (name: string) => /lines|colored/.test(name)

test('finds secrets in every encoding', () =>
  withKnown(KNOWN, () => {
    for (const secret of KNOWN) {
      for (const [name, write] of Object.entries(WRITINGS)) {
        if (needsLength(name) && secret.length < 12) continue
        const text = `before "${write(secret)}" after`
        const shown = redact(text)
        assert.is.not(shown, text, `${name}: ${text}`)
        const plain = (value: string) => value.replace(/\\+[nrt]|\s|\u001b\[[0-9;]*[mK]/g, '')
        const middle = plain(write(secret)).slice(8, -8)
        if (middle.length > 6) assert.not.ok(plain(shown).includes(middle), `${name}: ${shown}`)
        assert.is(redact(shown), shown, 'hidden once is hidden')
      }
    }
  }))

test('the fast check of JSON lines misses nothing, in strings and bytes', () =>
  withKnown(KNOWN, () => {
    for (const secret of [...KNOWN, ...SHAPED])
      for (const before of ['', ' ', '\n', '\t', '"', 'x = ', '\u001b[31m', 'é\n', '\\', '\r\n'])
        for (const after of ['', '\n', '"', ', b']) {
          const text = `a ${before}${secret}${after}`
          const json = JSON.stringify({ text })
          const wanted = redact(text)
          assert.is(JSON.parse(redactJsonLine(json)).text, wanted)
          if (wanted !== text)
            assert.ok(suspectOffsets(Buffer.from(json).toString('latin1')).length > 0, json)
        }
  }))

test('JSON stays JSON', () =>
  withKnown([...KNOWN, 'abc"\\def"ghi\\jkl"mn\\', '"0123456789abcdefghij"'], () => {
    for (const secret of [...KNOWN, 'abc"\\def"ghi\\jkl"mn\\', '"0123456789abcdefghij"']) {
      const shown = JSON.parse(redact(JSON.stringify({ [secret]: [secret, { secret }] })))
      assert.not.ok(JSON.stringify(shown).includes(JSON.stringify(secret).slice(1, -1)))
    }
  }))

test('does not redact values that could be a word, number or path everywhere', () => {
  for (const value of [
    ...['hunter2', 'secret', 'password', 'sunshine', 'ollama', 'no-key-required', 'changeme'],
    ...['sk-no-key-required', 'your-api-key-here', 'true', '12345678', '20260101', '2026-01-01'],
    ...['aaaaaaaaaaaa', '/home/me/key.json', '~/keys/a1b2c3.json', 'OPENAI_API_KEY', '********'],
    ...['<your key>', 'correcthorse', 'not needed', '1.2.3.4:8080'],
  ])
    assert.not.ok(isDistinctive(value), value)
  for (const value of [...KNOWN, 'hunter2!x', 'correct-horse-battery-staple', '123456789012'])
    assert.ok(isDistinctive(value), value)
})

test('redacts only known values in text the user decides on', () =>
  withKnown(KNOWN, () => {
    const command = 'A_TOKEN=abcdefghijklmnop curl -H "Authorization: Bearer sk-abcdefghijklmnop"'
    assert.is(redactKnown(command), command)
    assert.is(redactKnown(`${command} ${KNOWN[0]}`), `${command} ***`)
  }))

test('finds no secret in the files of this project', () => {
  const finder = new Finder(KNOWN)
  const files = execFileSync('git', [
    'ls-files',
    'lib',
    'public',
    'handlers',
    'build',
    '*.md',
    '*.json',
  ])
  const found = files
    .toString()
    .trim()
    .split('\n')
    .flatMap(path => {
      const text = readFileSync(path, 'utf8')
      return finder
        .analyze(text, true)
        .spans.map(({ from, to }) => `${path}: ${text.slice(from, to)}`)
    })
  assert.equal(found, [])
})

test('leaves hashes, ids, paths and code unchanged', () => {
  for (const text of [
    '3f786850e387550fdab836ed7e6dc881de23001b',
    '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
    '123e4567-e89b-12d3-a456-426614174000',
    'sha512-EcR/6WDcU7b2N3vQSxKALCk9lXGtUMQxXio008OEMBE0kavu',
    'const token = await getToken(user.id)',
    'password: z.string().min(8)',
    'apiKey: config.apiKey2',
    'MAX_TOKENS=4096 AUTHOR=Jane tokenLimit: 128000',
    'AGENT_WEBUI_AUTH_HEADER=Tailscale-User-Login PORT=1',
    'token_type=bearer&expires_in=3600',
    'http://localhost:8080/a:b@c',
    'import { secret } from "./secret-store.ts"',
    '<div class="task-list sk-item">',
    '"too_many_tokens": "トークンは{max}個までです。先に1つ取り消してください。"',
  ])
    assert.is(redact(text), text)
})

test('a secret inside of a sentence without spaces is masked', () => {
  for (const text of ['password: Xy12abcd34です。よろしく', 'api_key=請使用這個a8Kf3kQ2m9zP'])
    assert.not.match(redact(text), /Xy12abcd34|a8Kf3kQ2m9zP/)
})

test('covers all homes and reloads changed files', async () => {
  const dir = tempDir('secrets')
  const put = (path: string, text: string) => {
    mkdirSync(join(dir, path, '..'), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  const homes = new Homes(
    {
      baseHome: dir,
      agentHome: dir,
      configPath: null,
      env: { A_TOKEN: 'process-4711-abc', PATH: '/usr/bin:/bin', SSH_AUTH_SOCK: '/run/ssh-4711' },
    },
    systemClock,
  )
  const known = new KnownSecrets(() => homes.list())
  const stop = watchSecrets(() => known.list())
  const isHidden = (secret: string): boolean => {
    refreshSecrets()
    return !redact(`x ${secret} y`).includes(secret)
  }
  try {
    put(
      '.env',
      'GLM_API_KEY=base-0815-def\nMODEL_API_KEY_ENV=OTHER_API_KEY\nURL=https://a.example.org/\n',
    )
    put('profiles/work/.env', 'X_PASSWORD=work-9999-ghi\n')
    put(
      'config.yaml',
      `model: {api_key: "\${PLAIN_NAME}", extra_headers: {authorization: "Basic header-1111-abc"}}\ncustom_providers: [{default_headers: {x-gateway: fQ8zLm2kX9pVtR4wYb}}]\nproviders: {openai: {extra_headers: {cf-access-client-secret: header-2222-def, x-tags: team-a}}}\nmcp_servers: {a: {url: "https://u:url-pass-77@h/?token=parameter-88"}}\n`,
    )
    assert.equal(
      ['process-4711-abc', 'base-0815-def', 'work-9999-ghi', 'url-pass-77', 'parameter-88'].filter(
        secret => !isHidden(secret),
      ),
      [],
    )
    for (const secret of ['Basic header-1111-abc', 'fQ8zLm2kX9pVtR4wYb', 'header-2222-def'])
      assert.ok(isHidden(secret), secret)
    assert.not.ok(isHidden('team-a'))
    assert.is(known.list(), known.list(), 'the same array while nothing has changed')
    for (const usual of ['/run/ssh-4711', 'OTHER_API_KEY', 'https://a.example.org/', '/usr/bin'])
      assert.not.ok(isHidden(usual), usual)
    assert.not.ok(isHidden('later-1234-jkl'))
    put('profiles/later/auth.json', '{"tokens": {"main": "later-1234-jkl"}}')
    assert.ok(isHidden('later-1234-jkl'))
    put('.env', 'PLAIN_NAME=referred-5555-mno\n')
    await immediate()
    assert.ok(isHidden('referred-5555-mno'))
    rmSync(join(dir, 'profiles/later'), { recursive: true })
    assert.not.ok(isHidden('later-1234-jkl'))
    assert.not.ok(isHidden('base-0815-def'))
  } finally {
    stop()
    rmSync(dir, { recursive: true })
  }
})

test('truncated text has no part of a secret at its ends', () => {
  const secrets = KNOWN.filter(secret => /\d/.test(secret) && secret.length >= 12)
  withKnown(secrets, () => {
    for (const secret of secrets) {
      const text = `before ${secret} after`
      for (let at = 12; at < secret.length; at++) {
        const head = secret.slice(0, at)
        const tail = secret.slice(-at)
        for (const cut of [`before ${head}`, `before ${head}...`, `before ${head}…`])
          if (/\d/.test(head) || at > 18) assert.not.match(redact(cut), head, cut)
        for (const cut of [`${tail} after`, `…${tail} after`, tail])
          if (/\d/.test(tail)) assert.not.match(redact(cut), tail, cut)
      }
      assert.is(redact('before'), 'before')
      assert.is(reveal(redact(text.slice(0, -8)), text.slice(0, -8)), text.slice(0, -8))
    }
    assert.is(redact('two words'), 'two words')
    assert.is(redact('…correct-horse'), '…correct-horse')
  })
})

test('redacted text is restored completely when written, or rejected', () => {
  const long = 'LongKey-0123456789-abcdef'
  withKnown([long, 'Short#99x'], () => {
    const stored = `a: 1\nkey: ${long}\nPASSWORD=hunter2 # mine\nother: Short#99x\n`
    const shown = redact(stored)
    assert.not.match(shown, /LongKey-0|hunter2|Short#/)
    assert.is(reveal(shown, stored), stored)
    assert.is(reveal(shown.replace('a: 1', 'a: 2'), stored), stored.replace('a: 1', 'a: 2'))
    assert.is(reveal(shown.replace('# mine', '# ours'), stored), stored.replace('# mine', '# ours'))
    assert.is(reveal('key: LongKe...cdef', stored), `key: ${long}`)
    assert.throws(() => reveal('key: LongKe...cdef', 'nothing'), /is the mask of a secret/)
    assert.throws(
      () => reveal(shown.replace('PASSWORD=', 'PWD='), stored),
      /is the mask of a secret/,
    )
    assert.is(reveal('***bold***', 'plain'), '***bold***')
    assert.match(String(unusableCommand('curl -H "X: LongKe...cdef"')), /is the mask of a secret/)
    assert.is(unusableCommand('echo ...'), null)
  })
})

test.run()
