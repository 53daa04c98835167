/**
 * The proof that profiles are isolated: five homes with a secret word in each of their files, their turns and requests
 * interleaved in one process, and no word ever met outside its own profile.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { routes } from '../../../router.ts'
import type { RequestOptions } from '../../_http.ts'
import { createProvider, gate, type Scripted } from '../../_provider.ts'
import { startApp, type TestApp } from '../../_app.ts'

const PROFILES = ['default', 'ada', 'bob', 'cyd', 'dan'] as const
type Name = (typeof PROFILES)[number]

/** Long enough to be no accident, plain enough to survive every filter for secrets. */
const WORDS: Record<Name, string> = {
  default: 'quagmire',
  ada: 'zeppelin',
  bob: 'marzipan',
  cyd: 'obsidian',
  dan: 'tamarisk',
}

const foreignIn = (text: string, own: Name): string[] =>
  PROFILES.filter(name => name !== own && text.toLowerCase().includes(WORDS[name]))

const as = (name: Name): RequestOptions => ({ headers: { Cookie: `agent_profile=${name}` } })

const filesOf = (word: string, url: string): Record<string, string> => ({
  'config.yaml': `model:
  provider: custom
  base_url: ${url}
  api_key: key-${word}
  default: model-${word}
custom_providers:
  - name: house-${word}
    base_url: ${url}
    models: [extra-${word}]
agent:
  reasoning_effort: low
  personalities:
    voice-${word}: Speak like ${word}.
terminal:
  env_passthrough: [WORD_API_KEY]
`,
  '.env': `WORD_API_KEY=${word}\nDEEPSEEK_API_KEY=deep-${word}\n`,
  'auth.json': JSON.stringify({
    credential_pool: { mistral: [{ api_key: `pool-${word}`, label: `label-${word}` }] },
  }),
  'SOUL.md': `You are the soul of ${word}.`,
  'memories/MEMORY.md': `Remember ${word}.`,
  'memories/USER.md': `The user loves ${word}.`,
  [`skills/${word}/skill-${word}/SKILL.md`]: `---\nname: skill-${word}\ndescription: Does ${word}.\n---\n# ${word}\n`,
  'cron/jobs.json': JSON.stringify({
    jobs: [
      {
        id: Buffer.from(word).toString('hex').slice(0, 12),
        name: `job-${word}`,
        prompt: `Tell me about ${word}`,
        schedule: { kind: 'interval', minutes: 60_000, display: 'every 60000m' },
        schedule_display: 'every 60000m',
        enabled: false,
        state: 'paused',
        created_at: '2026-01-01T00:00:00+00:00',
      },
    ],
    updated_at: '2026-01-01T00:00:00+00:00',
  }),
})

type Context = { app: TestApp; provider: Scripted; homes: Record<Name, string> }
const test = suite<Context>('isolation of profiles')

test.before.each(async context => {
  context.provider = await createProvider()
  context.app = await startApp()
  const { app, provider } = context
  context.homes = { default: app.home } as Record<Name, string>
  for (const name of PROFILES) {
    if (name !== 'default') {
      const made = await app.post('/api/profile/create', { name })
      context.homes[name] = made.body.profile.path
    }
    for (const [path, text] of Object.entries(filesOf(WORDS[name], provider.url))) {
      const full = join(context.homes[name], path)
      mkdirSync(dirname(full), { recursive: true })
      writeFileSync(full, text)
    }
    const place = join(app.userHome, `place-${WORDS[name]}`)
    mkdirSync(place)
    const added = await app.post('/api/workspaces/add', { path: place }, as(name))
    assert.is(added.status, 200, added.text)
  }
})
test.after.each(async ({ app, provider }) => {
  await app.close()
  await provider.close()
})

const newSession = async (app: TestApp, name: Name): Promise<string> => {
  const workspace = join(app.userHome, `place-${WORDS[name]}`)
  const { body, text } = await app.post('/api/session/new', { workspace }, as(name))
  assert.is(body.session?.profile, name, text)
  return body.session.session_id
}

const readStream = async (app: TestApp, stream: string): Promise<string> => {
  const seen: string[] = []
  for await (const event of app.events(`/api/chat/stream?stream_id=${stream}`))
    seen.push(JSON.stringify(event))
  return seen.join('\n')
}

/** Which profile a recorded request belongs to: by the key it was sent with. */
const senderOf = (request: { headers: Record<string, unknown> }): Name => {
  const found = PROFILES.find(name => request.headers.authorization === `Bearer key-${WORDS[name]}`)
  assert.ok(found, String(request.headers.authorization))
  return found as Name
}

test('turns: the session’s profile decides the home, not the cookie; prompts, keys, environments and files never mix', async ({
  app,
  provider,
  homes,
}) => {
  const [first, second] = [gate(), gate()]
  const look = (opened: Promise<unknown>) => ({
    gate: opened,
    toolCalls: [
      { name: 'terminal', arguments: { command: 'echo "word: $WORD_API_KEY home: $AGENT_HOME"' } },
      { id: 'soul', name: 'read_file', arguments: { path: join(homes.ada, 'SOUL.md') } },
      { id: 'key', name: 'read_file', arguments: { path: join(homes.bob, '.env') } },
      {
        id: 'base',
        name: 'read_file',
        arguments: { path: join(homes.default, 'memories/USER.md') },
      },
      { id: 'find', name: 'search_files', arguments: { pattern: 'soul of', path: homes.default } },
    ],
  })
  provider.push(...PROFILES.map(() => look(first.opened)))
  provider.push(...PROFILES.map(() => ({ gate: second.opened, text: 'Done.' })))
  provider.push(...PROFILES.map(() => ({ text: 'A title' })))

  const turns = await Promise.all(
    PROFILES.map(async (name, at) => {
      const id = await newSession(app, name)
      // Sent by a browser that is in another profile: the session decides.
      const other = PROFILES[(at + 1) % PROFILES.length] as Name
      const message = `Say ${WORDS[name]}`
      const started = await app.post('/api/chat/start', { session_id: id, message }, as(other))
      assert.is(started.status, 200, started.text)
      return { name, id, stream: started.body.stream_id as string }
    }),
  )
  await provider.arrived(PROFILES.length)
  first.open()
  await provider.arrived(2 * PROFILES.length)
  second.open()
  const streams = await Promise.all(turns.map(({ stream }) => readStream(app, stream)))

  const senders = provider.requests.map(senderOf)
  for (const name of PROFILES)
    assert.ok(senders.filter(sender => sender === name).length >= 2, name)
  for (const [at, request] of provider.requests.entries()) {
    const own = senders[at] as Name
    const text = JSON.stringify([request.body, request.headers])
    assert.equal(foreignIn(text, own), [], `request ${at} of ${own}: ${text}`)
    assert.is(request.body.model, `model-${WORDS[own]}`)
  }
  for (const [at, { name, id }] of turns.entries()) {
    assert.equal(foreignIn(streams[at] ?? '', name), [], `stream of ${name}`)
    const stored = readFileSync(join(app.state, 'sessions', `${id}.jsonl`), 'utf8')
    assert.equal(foreignIn(stored, name), [], `journal of ${name}`)
    const asked = provider.requests.find(
      (request, index) => senders[index] === name && JSON.stringify(request.body).includes('word:'),
    )
    assert.match(JSON.stringify(asked?.body), `home: ${homes[name]}`)
    assert.match(JSON.stringify(asked?.body.messages[0]), `soul of ${WORDS[name]}`)
  }
})

/** The service's own: the same for everybody, or a list of all profiles. */
const GLOBAL = new Set([
  'GET /api/profiles',
  'GET /api/sessions',
  'GET /api/sessions/search',
  'GET /api/openapi.json',
])

const reads = Object.entries(routes)
  .filter(([key, { raw, effects }]) => key.startsWith('GET /api/') && !raw && !effects)
  .map(([key]) => key)
  .filter(key => !GLOBAL.has(key))

test('lists, models, keys, skills, memory, jobs, caches: two browsers stay separate in any order', async ({
  app,
}) => {
  const shown = new Map(PROFILES.map(name => [name, '']))
  const ask = async (key: string, name: Name) => {
    const { text } = await app.get(key.slice('GET '.length), as(name))
    assert.equal(foreignIn(text, name), [], `${key} as ${name}: ${text.slice(0, 2_000)}`)
    shown.set(name, `${shown.get(name)}\n${text}`)
  }
  // All at once, then backwards one by one: what the first round left in a cache must not reach the second.
  for (const key of reads) await Promise.all(PROFILES.map(name => ask(key, name)))
  for (const key of reads.toReversed())
    for (const name of PROFILES.toReversed()) await ask(key, name)
  // The proof would be worthless if nothing were shown at all.
  for (const name of PROFILES)
    for (const own of [`model-`, `voice-`, `place-`, `skill-`, `Remember `])
      assert.ok(shown.get(name)?.includes(own + WORDS[name]), `${own} of ${name}`)
})

test('skills and files of another profile cannot be requested by name or path', async ({
  app,
  homes,
}) => {
  for (const name of PROFILES) {
    const other = PROFILES[(PROFILES.indexOf(name) + 2) % PROFILES.length] as Name
    const word = WORDS[other]
    const skill = await app.get(`/api/skills/content?name=skill-${word}`, as(name))
    assert.is.not(skill.status, 200, `${name} → ${other}`)
    const suggested = await app.get(
      `/api/workspaces/suggest?prefix=${homes[other]}/skills/`,
      as(name),
    )
    if (other !== 'default') {
      assert.equal(suggested.body.suggestions, [], `${name} → ${other}`)
      for (const path of [homes[other], join(homes[other], 'skills')]) {
        assert.is((await app.post('/api/workspaces/add', { path }, as(name))).status, 400)
        const opened = await app.post('/api/session/new', { workspace: path }, as(name))
        assert.is(opened.status, 400, `${name} opens ${path}`)
      }
    }
  }
})

test('sessions: each belongs to the profile that created it; a search can be limited to one profile', async ({
  app,
}) => {
  for (const name of PROFILES) {
    const id = await newSession(app, name)
    await app.post('/api/session/rename', { session_id: id, title: `Talk of ${WORDS[name]}` })
  }
  for (const name of PROFILES) {
    const list = await app.get(`/api/sessions?profile=${name}`)
    assert.equal(foreignIn(list.text, name), [])
    assert.is(list.body.sessions.length, 1)
    for (const other of PROFILES) {
      const found = await app.get(`/api/sessions/search?q=${WORDS[other]}&profile=${name}`)
      assert.is(found.body.sessions.length, name === other ? 1 : 0, `${name} searches ${other}`)
    }
  }
})

test('writes in one profile do not reach another', async ({ app, homes }) => {
  await Promise.all(
    PROFILES.map((name, at) =>
      app.post(
        '/api/reasoning',
        { effort: ['none', 'minimal', 'medium', 'high', 'xhigh'][at] },
        as(name),
      ),
    ),
  )
  for (const [at, name] of PROFILES.entries()) {
    const effort = ['none', 'minimal', 'medium', 'high', 'xhigh'][at] as string
    const { body } = await app.get('/api/reasoning', as(name))
    assert.is(body.reasoning_effort, effort)
    const config = readFileSync(join(homes[name], 'config.yaml'), 'utf8')
    assert.match(config, `reasoning_effort: ${effort}`)
    assert.equal(foreignIn(config, name), [])
  }
  const memory = { section: 'memory', content: 'Only for ada: periwinkle.' }
  assert.is((await app.post('/api/memory/write', memory, as('ada'))).status, 200)
  for (const name of PROFILES) {
    const text = readFileSync(join(homes[name], 'memories', 'MEMORY.md'), 'utf8')
    assert.is(text.includes('periwinkle'), name === 'ada')
  }
  for (const name of PROFILES.slice(1))
    assert.not.ok(readdirSync(homes[name]).includes('webui'), 'the state directory is the base’s')
})

test.run()
