/**
 * A named pipe in place of each file of the home and the state directory: opening one waits for ever, and the whole
 * service with it. It starts, or says why not; it answers, and so does `doctor`.
 */
import { execFileSync } from 'node:child_process'
import { lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readSigningKey } from '../../../lib/people/signing-key.ts'
import { InstanceLock } from '../../../lib/store/instance-lock.ts'
import { routes } from '../../../router.ts'
import { createClient } from '../../_http.ts'
import { freePort, launch, SERVICE, startService } from '../../../build/start-program.ts'

const test = suite('special files')

/** Each answer is there long before. */
const PATIENCE_MS = 120_000

const SIGN_IN = [
  ...['.password', '.password_set', 'settings.json', 'auth-sessions.json', 'auth-throttle.json'],
]

const CONFIGURATION = ['config.yaml', '.env', 'auth.json']

const OTHERS = [
  ...['SOUL.md', 'active_profile', 'gateway.pid', 'gateway_state.json', 'state.db', 'auth.lock'],
  ...['.anthropic_oauth.json', 'google_token.json', 'google_client_secret.json', '.env.lock'],
  ...[
    'memories/MEMORY.md',
    'memories/USER.md',
    'memories/MEMORY.md.lock',
    'channel_directory.json',
  ],
  ...['skills/piped/SKILL.md', 'skills/.bundled_manifest', '.skills_prompt_snapshot.json'],
  ...[
    'cron/jobs.json',
    'cron/history.jsonl',
    'cron/.jobs.lock',
    'cron/.tick.lock',
    'scripts/job.py',
  ],
  ...['cron/output/0123456789ab/2026-01-01_00-00-00.md', 'models_dev_cache.json'],
  ...[
    'profiles/ada/config.yaml',
    'profiles/ada/.env',
    'profiles/ada/SOUL.md',
    'profiles/ada/state.db',
  ],
  ...[
    'webui/projects.json',
    'webui/workspaces.json',
    'webui/last_workspace.txt',
    'webui/grants.json',
  ],
  ...[
    'webui/accepted-guards.json',
    'webui/instance.json',
    'webui/budgets.json',
    'webui/usage.json',
  ],
  ...['webui/sessions/piped.jsonl', 'webui/sessions/older.json', 'webui/sessions/_index.json'],
  ...['webui/live/piped.jsonl', 'webui/cache/catalog.db', 'webui/cache/search.db'],
  ...['webui/trash/piped/about.json', 'webui/file-trash/piped/about.json', 'work/AGENTS.md'],
]

const withHome = async (
  pipes: readonly string[],
  run: (home: string, base: string) => Promise<void>,
): Promise<void> => {
  const home = mkdtempSync(join(tmpdir(), 'special-'))
  const base = join(home, '.agent')
  try {
    for (const name of pipes) {
      const path = name.startsWith('work/') ? join(home, name) : join(base, name)
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      execFileSync('mkfifo', [path])
    }
    await run(home, base)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

type Answers = ReturnType<typeof createClient>

const serving = async (
  home: string,
  ask: (client: Answers, output: () => string) => Promise<void>,
): Promise<void> => {
  const options = { home, args: ['--no-browser'], startTimeoutMs: PATIENCE_MS }
  const program = await startService(options)
  const client = createClient(() => program.url)
  try {
    await ask(client, program.output)
  } finally {
    client.closeClient()
    await program.stop('SIGKILL')
  }
}

/** Which of these requests was not answered in time, or with a failure of the service. */
const unanswered = async (
  client: Answers,
  asked: readonly (readonly [method: string, path: string, body?: object])[],
): Promise<string[]> => {
  const failed: string[] = []
  for (const [method, path, body] of asked) {
    try {
      const options = { timeoutMs: PATIENCE_MS, headOnly: true, ...(body && { body }) }
      const { status, text } = await client.request(method, path, options)
      if (status === 500) failed.push(`${method} ${path}: 500 ${text}`)
    } catch (error) {
      failed.push(`${method} ${path}: ${String(error)}`)
      break
    }
  }
  return failed
}

const GETS = Object.keys(routes)
  .filter(route => route.startsWith('GET /'))
  .map(route => route.slice('GET '.length))
  .filter(path => !/^\/(?:$|index|settings|tasks|profiles|skills|memory|usage)/.test(path))
  .filter(path => !/inject_test|updates\/check|media\/remote|stream$|api\/events/.test(path))

/** Every second one; all of them with PROOF=full. */
const half = <T>(of: readonly T[]): readonly T[] =>
  process.env.PROOF === 'full' ? of : of.filter((_, at) => at % 2 === 0)

test('required files: startup fails with an error that names the file', () =>
  withHome(['webui/.signing_key', 'webui/instance.lock'], async (_home, base) => {
    const state = join(base, 'webui')
    const sentence = (name: string) => new RegExp(`${name}.*(?:not a regular file|cannot be read)`)
    assert.throws(() => readSigningKey(state), sentence('signing_key'))
    const info = { pid: process.pid, address: '', started_at: 0 }
    assert.throws(() => new InstanceLock(state, info), sentence('instance.lock'))
  }))

test('authentication files: the service starts and rejects everyone they do not name', () =>
  withHome(
    SIGN_IN.map(name => `webui/${name}`),
    home =>
      serving(home, async (client, output) => {
        const failed = await unanswered(client, [
          ['GET', '/api/auth/status'],
          ['POST', '/api/auth/login', { password: 'none' }],
          ['GET', '/api/sessions'],
        ])
        assert.equal(failed, [])
        assert.is((await client.request('GET', '/api/sessions')).status, 401, output())
      }),
  ))

test('configuration: requests that need it are rejected with the reason', () =>
  withHome(CONFIGURATION, home =>
    serving(home, async client => {
      assert.equal(
        await unanswered(
          client,
          GETS.map(path => ['GET', path] as const),
        ),
        [],
      )
      const { text } = await client.request('GET', '/api/config/problems')
      for (const name of ['config.yaml', '.env', 'auth.json']) assert.match(text, `${name}`)
      assert.match(text, /named pipe/)
    }),
  ))

test('other files: every request is answered, none is removed, and doctor reports them', () =>
  withHome(OTHERS, async (home, base) => {
    const workspace = join(home, 'work')
    writeFileSync(join(base, 'config.yaml'), 'model: demo\n')
    mkdirSync(join(base, 'skills/linked'))
    symlinkSync(join(base, 'SOUL.md'), join(base, 'skills/linked/SKILL.md'))
    await serving(home, async client => {
      assert.equal(
        await unanswered(
          client,
          half(GETS).map(path => ['GET', path] as const),
        ),
        [],
      )
      const made = await client.request('POST', '/api/session/new', { body: { workspace } })
      const { session_id = '' } = made.body.session ?? {}
      const failed = await unanswered(client, [
        ['GET', '/api/session?session_id=piped'],
        ['GET', '/api/session?session_id=older'],
        ['POST', '/api/session/delete', { session_id: 'piped' }],
        ['POST', '/api/session/restore', { session_id: 'piped' }],
        ['GET', '/api/crons/output?job_id=0123456789ab'],
        ['GET', '/api/skills/content?name=piped'],
        ['GET', '/api/skills/content?name=linked'],
        ['POST', '/api/skills/save', { name: 'piped', content: 'Look.' }],
        ['POST', '/api/memory/write', { section: 'memory', content: 'A note' }],
        ['POST', '/api/crons/create', { prompt: 'Look', schedule: 'every 2h', script: 'job.py' }],
        ['POST', '/api/crons/create', { prompt: 'Look', schedule: 'every 2h' }],
        ['POST', '/api/projects/create', { name: 'One' }],
        ['POST', '/api/workspaces/add', { path: home }],
        ['POST', '/api/providers', { provider: 'openai', api_key: 'sk-0123456789abcdef0123' }],
        ['POST', '/api/profile/create', { name: 'copy', clone_from: 'ada', clone_config: true }],
        ['POST', '/api/profile/switch', { name: 'ada' }],
        ['POST', '/api/profile/switch', { name: 'default' }],
        ['POST', '/api/chat', { session_id, message: 'Hello' }],
        ['GET', `/api/session/status?session_id=${session_id}`],
        ['GET', '/api/sessions/search?q=hello'],
      ])
      assert.equal(failed, [])
    })
    for (const name of ['SOUL.md', 'cron/jobs.json', 'webui/sessions/piped.jsonl'])
      assert.ok(lstatSync(join(base, name)).isFIFO(), name)
    const doctor = launch(process.execPath, [SERVICE, 'doctor'], { home, port: await freePort() })
    const late = setTimeout(() => doctor.child.kill('SIGKILL'), PATIENCE_MS)
    const code = await doctor.exited
    clearTimeout(late)
    assert.is(code, 1, doctor.output())
    assert.match(doctor.output(), /jobs\.json/)
  }))

test.run()
