/** `doctor` on setups that cannot start or cannot save: each is reported once, with a non-zero exit code. */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Check } from '../../../lib/cli/check.ts'
import { createDesk, type Desk } from './_run.ts'

const test = suite<{ desk: Desk }>('agent-webui doctor: broken setups')
test.before.each(state => {
  state.desk = createDesk()
})
test.after.each(({ desk }) => desk.close())

const look = async (desk: Desk, env: Record<string, string> = {}) => {
  const { code, out, err } = await desk.talk(['doctor', '--json'], { env })
  assert.is(err, '')
  const { ok, checks } = JSON.parse(out) as { ok: boolean; checks: Check[] }
  assert.is(code, ok ? 0 : 1)
  return { ok, checks, failed: checks.filter(({ level }) => level === 'fail') }
}

/** Everything that doctor must not change. */
const listing = (dir: string): string[] => readdirSync(dir, { recursive: true }).map(String).sort()

const makeCertificate = (dir: string, days: string): Record<string, string> => {
  const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')]
  const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -days ${days}`
  execFileSync('openssl', [...words.split(' '), '-keyout', key, '-out', cert], { stdio: 'ignore' })
  return { AGENT_WEBUI_TLS_CERT: cert, AGENT_WEBUI_TLS_KEY: key }
}

type Setup = {
  name: string
  make: (desk: Desk, state: string) => Record<string, string> | undefined
  about: string
  said: RegExp
}

const put = (path: string, text: string): undefined => void writeFileSync(path, text)

const SETUPS: readonly Setup[] = [
  {
    name: 'settings.json is cut off',
    make: (_, state) => put(join(state, 'settings.json'), '{"theme": "da'),
    about: 'settings.json',
    said: /JSON/,
  },
  {
    name: 'settings.json is a directory',
    make: (_, state) => void mkdirSync(join(state, 'settings.json')),
    about: 'settings.json',
    said: /not a file/,
  },
  {
    name: 'projects.json is not JSON',
    make: (_, state) => put(join(state, 'projects.json'), 'name: project'),
    about: 'projects.json',
    said: /JSON/,
  },
  {
    name: 'the tasks file is cut off',
    make: ({ home }) => {
      mkdirSync(join(home, 'cron'))
      return put(join(home, 'cron', 'jobs.json'), '{"jobs": [')
    },
    about: 'cron/jobs.json',
    said: /JSON/,
  },
  {
    name: 'the TLS files do not exist',
    make: () => ({ AGENT_WEBUI_TLS_CERT: '/nope/c.pem', AGENT_WEBUI_TLS_KEY: '/nope/k.pem' }),
    about: 'certificate',
    said: /\/nope\/c\.pem.*no such file/,
  },
  {
    name: 'the certificate is no certificate',
    make: ({ root }) => {
      const pem = join(root, 'bad.pem')
      put(pem, 'not a certificate')
      return { AGENT_WEBUI_TLS_CERT: pem, AGENT_WEBUI_TLS_KEY: pem }
    },
    about: 'certificate',
    said: /cannot be used/,
  },
  {
    name: 'certificate and key do not belong together',
    make: ({ root }) => {
      const other = join(root, 'other')
      mkdirSync(other)
      const { AGENT_WEBUI_TLS_KEY = '' } = makeCertificate(other, '30')
      return { ...makeCertificate(root, '30'), AGENT_WEBUI_TLS_KEY }
    },
    about: 'certificate',
    said: /cannot be used/,
  },
  {
    name: 'only one TLS file is set',
    make: () => ({ AGENT_WEBUI_TLS_CERT: '/nope/c.pem' }),
    about: 'environment',
    said: /must be set together/,
  },
  {
    name: 'the signing key is too short',
    make: (_, state) => put(join(state, '.signing_key'), 'short'),
    about: 'signing key',
    said: /holds 5 bytes instead of 32/,
  },
  {
    name: 'the signing key is a directory',
    make: (_, state) => void mkdirSync(join(state, '.signing_key')),
    about: 'signing key',
    said: /cannot be read/,
  },
  {
    name: 'the default workspace does not exist',
    make: () => ({ AGENT_WEBUI_DEFAULT_WORKSPACE: '/nope/work' }),
    about: 'workspace',
    said: /\/nope\/work does not exist/,
  },
  {
    name: 'the default workspace is a file',
    make: ({ root }) => {
      put(join(root, 'work'), '')
      return { AGENT_WEBUI_DEFAULT_WORKSPACE: join(root, 'work') }
    },
    about: 'workspace',
    said: /cannot be used/,
  },
  {
    name: 'the state directory is a file',
    make: ({ root }) => {
      put(join(root, 'state'), '')
      return { AGENT_WEBUI_STATE_DIR: join(root, 'state') }
    },
    about: 'state',
    said: /state is not a directory/,
  },
  {
    name: 'the state directory is below a file',
    make: ({ root }) => {
      put(join(root, 'file'), '')
      return { AGENT_WEBUI_STATE_DIR: join(root, 'file', 'webui') }
    },
    about: 'state',
    said: /file is not a directory/,
  },
  {
    name: 'the state directory is a broken link',
    make: ({ root }) => {
      symlinkSync('/nope/nowhere', join(root, 'link'))
      return { AGENT_WEBUI_STATE_DIR: join(root, 'link', 'webui') }
    },
    about: 'state',
    said: /link/,
  },
  {
    name: 'the address belongs to no network of this machine',
    make: () => ({ AGENT_WEBUI_HOST: '203.0.113.9' }),
    about: 'address',
    said: /does not have that address/,
  },
  {
    name: 'a variable is misspelled',
    make: () => ({ AGENT_WEBUI_PASWORD: 'x' }),
    about: 'environment',
    said: /did you mean AGENT_WEBUI_PASSWORD/,
  },
  {
    name: 'the port is no port',
    make: () => ({ AGENT_WEBUI_PORT: '99999' }),
    about: 'environment',
    said: /from 0 to 65535/,
  },
  {
    name: 'the proxy list holds a word',
    make: () => ({ AGENT_WEBUI_TRUSTED_PROXIES: 'banana' }),
    about: 'environment',
    said: /not "banana"/,
  },
  {
    name: 'the user header has no trusted proxy',
    make: () => ({ AGENT_WEBUI_AUTH_HEADER: 'Remote-User' }),
    about: 'environment',
    said: /needs AGENT_WEBUI_TRUSTED_PROXIES/,
  },
  {
    name: 'the secret of the provider is missing',
    make: () => ({
      AGENT_WEBUI_OIDC_ISSUER: 'http://127.0.0.1:9',
      AGENT_WEBUI_OIDC_CLIENT_ID: 'agent',
      AGENT_WEBUI_OIDC_CLIENT_SECRET_FILE: '/nowhere/secret',
    }),
    about: 'single sign-on',
    said: /cannot be read/,
  },
  {
    name: 'the provider does not answer',
    make: () => ({
      AGENT_WEBUI_OIDC_ISSUER: 'http://127.0.0.1:9',
      AGENT_WEBUI_OIDC_CLIENT_ID: 'agent',
    }),
    about: 'single sign-on',
    said: /127\.0\.0\.1:9: sign-in with 127\.0\.0\.1/,
  },
]

for (const { name, make, about, said } of SETUPS)
  test(name, async ({ desk }) => {
    const state = join(desk.home, 'webui')
    mkdirSync(state, { mode: 0o700 })
    const env = make(desk, state) ?? {}
    const before = listing(desk.root)
    const { failed } = await look(desk, env)
    const found = failed.find(check => check.about === about)
    assert.ok(found, `nothing failed about ${about}: ${JSON.stringify(failed)}`)
    assert.match(found.said, said)
    assert.ok(found.advice)
    assert.equal(listing(desk.root), before)
  })

test('an invalid value of config.yaml is a warning, and costs only itself', async ({ desk }) => {
  writeFileSync(
    join(desk.home, 'config.yaml'),
    'agent: {max_turns: many}\napprovals: {mode: ask}\n',
  )
  const { checks } = await look(desk, {})
  const warned = checks.filter(({ level }) => level === 'warn').map(({ about }) => about)
  assert.ok(warned.includes('agent.max_turns'), JSON.stringify(checks))
  assert.ok(warned.includes('approvals.mode'))
})

const occupy = async (): Promise<{ server: Server; port: number }> => {
  const server = createServer(socket => socket.end('220 mail\r\n'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return { server, port: typeof address === 'object' && address ? address.port : 0 }
}

test('reports a port that is in use', async ({ desk }) => {
  const { server, port } = await occupy()
  const { failed } = await look(desk, { AGENT_WEBUI_PORT: `${port}` })
  assert.match(failed.find(({ about }) => about === 'address')?.said ?? '', 'the port is in use')
  server.close()
})

test('warns about an expiring certificate and ignored origins, and not about a valid setup', async ({
  desk,
}) => {
  const soon = await look(desk, {
    ...makeCertificate(desk.root, '3'),
    AGENT_WEBUI_ALLOWED_ORIGINS: 'banana',
  })
  const level = (about: string) => soon.checks.find(each => each.about === about)?.level
  assert.is(level('certificate'), 'warn')
  assert.is(level('environment'), 'warn')
  const sound = await look(desk, makeCertificate(desk.root, '90'))
  assert.equal(sound.failed, [])
})

test('reports unreadable lines of a session', async ({ desk }) => {
  const sessions = join(desk.home, 'webui', 'sessions')
  mkdirSync(sessions, { recursive: true, mode: 0o700 })
  put(
    join(sessions, 'abcdefabcdef.jsonl'),
    '{"n":1,"t":"session","at":1,"v":1,"meta":{}}\nbroken\n',
  )
  put(join(sessions, '0123456789ab.jsonl'), '{"n":1,"t":"session","at":1,"v":1,"meta":{}}\n')
  const { checks } = await look(desk)
  const found = checks.find(({ about }) => about === 'sessions')
  assert.is(found?.level, 'warn')
  assert.match(found?.said ?? '', '1 of 2 have unreadable lines: abcdefabcdef.jsonl')
})

test('--wait exits with 0 when the server responds, with 1 on timeout', async ({ desk }) => {
  const { server, port } = await occupy()
  const waiting = await desk.talk(['doctor', '--wait', '0'], {
    env: { AGENT_WEBUI_PORT: `${port}` },
  })
  assert.is(waiting.code, 1)
  assert.match(waiting.err, 'does not respond')
  server.close()
  const running = desk.start(['0', '--no-browser'])
  const { code, out } = await desk.talk(['doctor', '--wait', '20'])
  // The first poll may come before the start and use the configured port until instance.json exists.
  assert.is(code, 0)
  assert.match(out, 'The server responds at http://127.0.0.1:')
  running.child.kill('SIGTERM')
  await running.ended
})

test('reports a home that only other users can write', async ({ desk }) => {
  if (process.getuid?.() === 0) return
  chmodSync(desk.home, 0o500)
  const { failed } = await look(desk)
  assert.ok(failed.some(({ about }) => about === 'state'))
  chmodSync(desk.home, 0o700)
  assert.not.ok(existsSync(join(desk.home, 'webui')))
})

test.run()
