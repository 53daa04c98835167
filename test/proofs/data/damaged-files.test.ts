/** Every shared file × every kind of damage: no file is treated as empty or overwritten. */
import { execFileSync } from 'node:child_process'
import { lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_FILE_BYTES } from '../../../lib/store/read-text.ts'
import { startApp, type TestApp } from '../../_app.ts'
import { createProvider } from '../../_provider.ts'
import { create, idle } from '../../handlers/_crons.ts'

const damaged = suite('damaged files')

type Damage = { name: string; make: (path: string) => void; words: RegExp }

const put = (text: string | Buffer) => (path: string) => {
  rmSync(path, { recursive: true, force: true })
  writeFileSync(path, text)
}
const replaced = (make: (path: string) => void) => (path: string) => {
  rmSync(path, { recursive: true, force: true })
  make(path)
}

const KINDS: Damage[] = [
  { name: 'a directory', make: replaced(path => mkdirSync(path)), words: /a directory/ },
  {
    name: 'a pipe',
    make: replaced(path => void execFileSync('mkfifo', [path])),
    words: /a named pipe/,
  },
  { name: 'not UTF-8', make: put(Buffer.from('{"a": "\xff"}\n', 'latin1')), words: /UTF-8/ },
  { name: 'too large', make: put(Buffer.alloc(MAX_FILE_BYTES + 1, ' ')), words: /larger than/ },
]
const YAML: Damage[] = [
  { name: 'a slip', make: put('model: [custom\n'), words: /line \d/ },
  { name: 'half written', make: put('model:\n  provider: "cust'), words: /line 2/ },
  { name: 'a doubled key', make: put('a: 1\na: 2\n'), words: /line 2.*twice/ },
  { name: 'a list', make: put('- a\n'), words: /a list/ },
  { name: 'an endless alias', make: put('a: &a [*a]\n'), words: /contains itself/ },
]
const JSON_KINDS: Damage[] = [
  { name: 'half written', make: put('{"version": 1,\n "x'), words: /line 2/ },
  { name: 'another shape', make: put('5'), words: /./ },
]

/** What is there, byte for byte, without waiting for a pipe. */
const bytesOf = (path: string): string => {
  const found = lstatSync(path)
  return found.isFile() ? readFileSync(path).toString('latin1') : String(found.mode)
}

/** A home whose model is `own`, while a key and an address of `other` lie around. */
const startHome = async () => {
  const own = await createProvider()
  const other = await createProvider()
  for (const provider of [own, other]) provider.otherwise = () => ({ text: 'An answer.' })
  const app = await startApp({
    env: { OPENAI_API_KEY: 'sk-of-the-other-one', OPENAI_BASE_URL: other.url },
  })
  const config = `model:\n  provider: custom\n  base_url: ${own.url}\n  default: test-model\n`
  const mend = () => {
    for (const name of ['config.yaml', '.env', 'auth.json'])
      rmSync(join(app.home, name), { recursive: true, force: true })
    writeFileSync(join(app.home, 'config.yaml'), config)
    writeFileSync(join(app.home, '.env'), 'NOTHING=here\n')
    writeFileSync(join(app.home, 'auth.json'), '{"version": 1}')
  }
  mend()
  return {
    app,
    own,
    other,
    mend,
    async close() {
      await app.close()
      await own.close()
      await other.close()
    },
  }
}

/** The last words of a turn, whatever they are. */
const turn = async (app: TestApp, session_id: string): Promise<string> => {
  const { body } = await app.post('/api/chat/start', { session_id, message: 'my own words' })
  for await (const { event } of app.events(`/api/chat/stream?stream_id=${body.stream_id}`))
    if (event === 'stream_end') break
  const { messages } = (await app.get(`/api/session?session_id=${session_id}`)).body.session
  assert.is(
    messages.find((message: { role: string }) => message.role === 'user')?.content,
    'my own words',
  )
  return messages.at(-1).content
}

const newSession = async (app: TestApp): Promise<string> =>
  (await app.post('/api/session/new', {})).body.session.session_id

const FILES: [name: string, kinds: Damage[]][] = [
  ['config.yaml', [...KINDS, ...YAML]],
  ['.env', KINDS],
  ['auth.json', [...KINDS, ...JSON_KINDS]],
]

/** Every second kind of damage, other ones for each file; all of them with PROOF=full. */
const half = <T>(kinds: readonly T[], at: number): readonly T[] =>
  process.env.PROOF === 'full' ? kinds : kinds.filter((_, index) => index % 2 === at % 2)

damaged(
  'uses the last good version; applies the fixed one; reports once to pages and log',
  async () => {
    const { app, own, other, mend, close } = await startHome()
    try {
      const id = await newSession(app)
      for (const [at, [name, kinds]] of FILES.entries())
        for (const { name: kind, make, words } of half(kinds, at)) {
          mend()
          assert.equal((await app.get('/api/config/problems')).body.problems, [], `${name} mended`)
          const path = join(app.home, name)
          make(path)
          const before = bytesOf(path)
          const asked = own.requests.length
          assert.is(await turn(app, id), 'An answer.', `${name}: ${kind}`)
          assert.ok(own.requests.length > asked)
          const { problems } = (await app.get('/api/config/problems')).body
          assert.equal(
            problems.map((each: Record<string, unknown>) => [each.file, each.in_force]),
            [[path, true]],
            `${name}: ${kind}`,
          )
          assert.match(problems[0].reason, words)
          // Every write from the page is rejected, and the file is unchanged.
          await app.post('/api/default-model', { model: 'another' })
          await app.post('/api/providers', { provider: 'deepseek', api_key: 'sk-1234567890' })
          if (name !== 'auth.json') assert.is(bytesOf(path), before, `${name}: ${kind}`)
        }
      assert.is(other.requests.length, 0)
      const said = app.lines.filter(line =>
        /config\.yaml cannot be read: line 2: "a" is there twice/.test(line),
      )
      assert.is(said.length, 1, said.join('\n'))
    } finally {
      await close()
    }
  },
)

damaged(
  'without a good version, rejects every kind of turn with file and reason and calls no model',
  async () => {
    const { app, own, other, mend, close } = await startHome()
    try {
      const job = await create(app, { prompt: 'look' })
      for (const [at, [name, kinds]] of FILES.entries())
        for (const { name: kind, make, words } of half(kinds, at)) {
          mend()
          const path = join(app.home, name)
          make(path)
          const before = bytesOf(path)
          await app.restart()
          const is = (text: string, what: string) => {
            assert.ok(text.includes(path), `${name} ${kind}, ${what}: ${text}`)
            assert.match(text, words, what)
          }
          const id = await newSession(app)
          is(await turn(app, id), 'a turn')
          const sync = await app.post('/api/chat', { session_id: id, message: 'and at once' })
          is(JSON.stringify(sync.body), 'the synchronous call')
          for (const verb of ['/api/btw', '/api/background']) {
            const { status, body } = await app.post(verb, {
              session_id: id,
              question: 'x',
              prompt: 'x',
            })
            if (status !== 200) is(body.error, verb)
          }
          const compress = await app.post('/api/session/compress', { session_id: id })
          assert.ok(compress.status >= 400)
          await app.post('/api/crons/run', { job_id: job })
          await idle(app)
          const { outputs } = (await app.get(`/api/crons/output?job_id=${job}`)).body
          is(outputs[0].content, 'a task')
          assert.is(bytesOf(path), before)
        }
      assert.equal([own.requests.length, other.requests.length], [0, 0])
    } finally {
      await close()
    }
  },
)

/** Lists of the page: what is shown stays, what would be written is refused. */
damaged('lists: shown in their last good version, never overwritten, and reported', async () => {
  const app = await startApp({ allowErrors: true })
  try {
    const folder = join(app.userHome, 'folder')
    mkdirSync(folder)
    const LISTS: [
      file: string,
      fill: () => Promise<unknown>,
      count: () => Promise<number>,
      change: () => Promise<{ status: number }>,
    ][] = [
      [
        join(app.home, 'cron', 'jobs.json'),
        () => create(app),
        async () => (await app.get('/api/crons')).body.jobs.length,
        () => app.post('/api/crons/create', { prompt: 'x', schedule: 'every 1h' }),
      ],
      [
        join(app.state, 'workspaces.json'),
        () => app.post('/api/workspaces/add', { path: folder }),
        async () => (await app.get('/api/workspaces')).body.workspaces.length,
        () => app.post('/api/workspaces/remove', { path: folder }),
      ],
      [
        join(app.state, 'projects.json'),
        () => app.post('/api/projects/create', { name: 'One' }),
        async () => (await app.get('/api/projects')).body.projects.length,
        () => app.post('/api/projects/create', { name: 'Two' }),
      ],
    ]
    for (const [at, [file, fill, count, change]] of LISTS.entries()) {
      await fill()
      const whole = readFileSync(file)
      const many = await count()
      assert.ok(many > 0, file)
      for (const { name: kind, make } of half([...KINDS, ...JSON_KINDS], at)) {
        rmSync(file, { recursive: true, force: true })
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, whole)
        assert.is(await count(), many)
        make(file)
        const before = bytesOf(file)
        assert.is(await count(), many, `${file}: ${kind}`)
        assert.is((await change()).status, 409, `${file}: ${kind}`)
        assert.is(bytesOf(file), before, `${file}: ${kind}`)
        const { problems } = (await app.get('/api/config/problems')).body
        assert.ok(
          problems.some((each: { file: string }) => each.file === file),
          `${file}: ${kind}`,
        )
      }
      rmSync(file, { recursive: true, force: true })
      writeFileSync(file, whole)
    }
  } finally {
    await app.close()
  }
})

/** A configuration that is whole and says something that cannot be meant. */
const SLIPS = (url: string): [yaml: string, words: RegExp][] => [
  ['model: {provider: opnai, default: gpt-5}', /Opnai/i],
  ['model: {provider: opnai, default: openai/gpt-5}', /Opnai/i],
  ['model: {provider: opnai, default: anthropic/claude-opus-4.6}', /Opnai/i],
  ['model: [openai]', /model is a list/],
  ['model: true', /model is "true"/],
  ['model: {provider: [openai], default: gpt-5}', /model\.provider is a list/],
  ['model: {provider: {name: openai}}', /model\.provider is a mapping/],
  ['model: {provider: true, default: gpt-5}', /model\.provider is "true"/],
  [`model: {base_url: [${url}], default: m}`, /model\.base_url is a list/],
  [`model: {base-url: ${url}, default: m}`, /model\.base-url is not a setting/],
  [`model: {baseUrl: ${url}, default: m}`, /model\.baseUrl is not a setting/],
  [`model: {base_ulr: ${url}, default: m}`, /model\.base_ulr is not a setting/],
  ['model: {provdier: custom, default: gpt-5}', /model\.provdier is not a setting/],
  [`modle: {provider: custom, base_url: ${url}, default: m}`, /modle is not a setting/],
  [`model: {base_url: "${url.replace('http://', '')}", default: m}`, /address/],
  ['model: {provider: custom, default: m}\ncustom_providers: 5', /custom_providers is/],
  ['model: {default: gpt-5}\ncustom_providers: [5]', /entry 1 of custom_providers/],
  ['model: {default: gpt-5}\nproviders: [openai]', /providers is a list/],
  ['model: {default: gpt-5}\nproviders: {openai: sk-1}', /providers\.openai is/],
]

damaged(
  'a typo in provider or address never sends to another company, and is reported',
  async () => {
    const { app, own, other, close } = await startHome()
    try {
      for (const [yaml, words] of SLIPS(own.url)) {
        writeFileSync(join(app.home, 'config.yaml'), `${yaml}\n`)
        const id = await newSession(app)
        const said = await turn(app, id)
        // No provider with a key takes over.
        assert.match(said, words, yaml)
        assert.equal([own.requests.length, other.requests.length], [0, 0], yaml)
      }
    } finally {
      await close()
    }
  },
)

damaged.run()
