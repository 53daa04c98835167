/**
 * Proof: both container images, built by buildah from a Debian of mmdebstrap, run under any user id with a read-only root and one
 * volume: start, health check, a turn, programs that the agent uses, the end in time. Built only at full size, as root.
 */
import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../../build/start-program.ts'
import { findProgram } from '../../../lib/base/find-program.ts'
import { createClient } from '../../_http.ts'
import { createProvider } from '../../_provider.ts'

const test = suite('container images')

/** No one in /etc/passwd. */
const UID = 54_321
const DEBIAN = 'docker.io/library/debian:bookworm-slim'

const missing = (): string | null => {
  if (process.env.PROOF !== 'full') return 'it takes minutes; npm run proof -- proofs/image'
  const names = ['buildah', 'mmdebstrap', 'unshare', 'chroot', 'mount']
  const absent = names.filter(name => !findProgram(process.env.PATH ?? '', name))
  if (absent.length > 0) return `${absent.join(', ')} is not installed`
  return process.getuid?.() === 0 ? null : 'it needs root for mounts'
}

const root = { dir: '' }
const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 1e8,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
const buildah = (...args: string[]): string =>
  run(
    'buildah',
    '--root',
    join(root.dir, 'store'),
    '--runroot',
    join(root.dir, 'run'),
    '--storage-driver',
    'vfs',
    ...args,
  ).trim()

/** The stage that compiles is cut: this machine does what it does. */
const buildImages = (): void => {
  run(process.execPath, 'build.mjs', '--exe', '--quiet')
  const context = join(root.dir, 'build')
  mkdirSync(join(context, 'out'), { recursive: true })
  cpSync('dist/agent-webui', join(context, 'out/agent-webui'))
  cpSync(`node_modules/@vscode/ripgrep-linux-${process.arch}/bin/rg`, join(context, 'out/rg'))
  const debian = join(root.dir, 'debian.tar')
  run('mmdebstrap', '--quiet', '--variant=minbase', '--include=ca-certificates', 'bookworm', debian)
  const base = buildah('from', 'scratch')
  buildah('add', '--quiet', base, debian, '/')
  buildah('commit', '--quiet', base, DEBIAN)
  const text = readFileSync('Dockerfile', 'utf8')
  writeFileSync(
    join(root.dir, 'Dockerfile'),
    text.replace(/^FROM node[\s\S]*?(?=^FROM debian)/m, ''),
  )
  for (const target of ['slim', 'bare'])
    buildah(
      ...`bud --quiet --isolation chroot --pull-never --format docker --target ${target} --build-arg VERSION=v9.8.7 --tag ${target} --build-context build=${context} --file ${root.dir}/Dockerfile ${context}`.split(
        ' ',
      ),
    )
}

type Image = {
  dir: string
  env: string[]
  entry: string[]
  check: string[]
  home: string
  labels: Record<string, string>
}

const openImage = (name: string): Image => {
  const { Docker, OCIv1 } = JSON.parse(buildah('inspect', '--type', 'image', name))
  const dir = buildah('mount', buildah('from', '--pull-never', name))
  // A runtime makes these.
  for (const each of ['proc', 'dev', 'tmp', 'data']) mkdirSync(join(dir, each), { recursive: true })
  const { Env, Entrypoint, Labels, WorkingDir } = OCIv1.config
  return {
    dir,
    env: Env,
    entry: Entrypoint,
    check: Docker.config.Healthcheck.Test.slice(1),
    home: WorkingDir || '/data',
    labels: Labels,
  }
}

/** In a mount namespace of its own: the root read-only, one volume, a temporary /tmp. The process is the program itself. */
const MOUNTS = `set -e
mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"
mount --bind "$2" "$1/data"; mount -t tmpfs tmpfs "$1/tmp"; mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"
image=$1; shift 2
exec chroot --userspec=${UID}:${UID} --groups= "$image" "$@"`

const start = (
  image: Image,
  volume: string,
  command: readonly string[],
  env: readonly string[] = [],
) => {
  const variables = Object.fromEntries(
    [...image.env, ...env].map(pair => pair.split(/=(.*)/s).slice(0, 2) as [string, string]),
  )
  const child = spawn(
    '/usr/bin/unshare',
    ['--mount', '/bin/sh', '-c', MOUNTS, 'sh', image.dir, volume, ...command],
    {
      // chroot looks for the command with it, inside.
      env: {
        PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        TINI_SUBREAPER: '1',
        ...variables,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let said = ''
  let wake = () => {}
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', chunk => {
      said += chunk
      wake()
    })
  const ended = new Promise<number | null>(resolve =>
    child.once('close', code => {
      resolve(code)
      wake()
    }),
  )
  const until = async (words: string) => {
    while (!said.includes(words)) {
      if (child.exitCode !== null) throw new Error(said)
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
  return { child, ended, until, output: () => said }
}

const withImage = async (
  name: string,
  use: (given: { image: Image; volume: string; url: string; port: string }) => Promise<void>,
) => {
  const image = openImage(name)
  assert.is(image.labels['org.opencontainers.image.version'], 'v9.8.7')
  // As a runtime makes a volume: with the permissions that the directory has in the image.
  const volume = join(root.dir, `volume-${name}`)
  mkdirSync(volume)
  chmodSync(volume, statSync(join(image.dir, 'data')).mode & 0o7777)
  const port = String(await freePort())
  await use({ image, volume, url: `http://127.0.0.1:${port}`, port })
}

/** Start, health check, a turn of the demo model, SIGTERM, with `between` before the end. */
const checkService = async (
  name: string,
  between: (api: ReturnType<typeof createClient>, volume: string) => Promise<void>,
) =>
  withImage(name, async ({ image, volume, url, port }) => {
    const env = [
      'AGENT_WEBUI_HOST=127.0.0.1',
      `AGENT_WEBUI_PORT=${port}`,
      'AGENT_WEBUI_SKIP_ONBOARDING=1',
    ]
    const checkHealth = () => start(image, volume, image.check, env).ended
    const service = start(image, volume, [...image.entry, '--no-browser'], env)
    const api = createClient(() => url)
    try {
      await service.until(' answers at ')
      assert.is(await checkHealth(), 0)
      const { session_id } = (await api.post('/api/session/new')).body.session
      const answered = await api.post('/api/chat', { session_id, message: 'hello' })
      assert.is(answered.status, 200, answered.text)
      await between(api, volume)
      service.child.kill('SIGTERM')
      assert.is(await service.ended, 0, service.output())
      assert.is(await checkHealth(), 1)
      assert.not.match(service.output(), / error: /)
      // All that it wrote is in the volume, and its own.
      assert.is(statSync(join(volume, '.agent/webui')).uid, UID)
    } finally {
      api.closeClient()
      service.child.kill('SIGKILL')
    }
  })

const reason = missing()
if (reason !== null) console.log(`  image: skipped, ${reason}`)
const proof = reason === null ? test : test.skip

test.before(() => {
  if (reason !== null) return
  root.dir = mkdtempSync(join(tmpdir(), 'image-'))
  buildImages()
})
test.after(() => {
  if (root.dir === '') return
  buildah('rm', '--all')
  rmSync(root.dir, { recursive: true, force: true })
})

proof(
  'slim: the service runs under any user id, and the agent has git, ripgrep, and Python',
  async () => {
    const provider = await createProvider()
    await checkService('slim', async (api, volume) => {
      const config = join(volume, '.agent/config.yaml')
      writeFileSync(
        config,
        `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\napprovals:\n  mode: off\n`,
      )
      chownSync(config, UID, UID)
      const command =
        'git init -q repo && cd repo && echo needle > file && git add . && git -c user.name=a -c user.email=a@b commit -qm one && git log --oneline | wc -l && rg --count needle && python3 -c "print(6 * 7)" && id -u; touch /usr/x'
      provider.push(
        { toolCalls: [{ id: 'c1', name: 'terminal', arguments: { command } }] },
        { text: 'Done.' },
      )
      const { session_id } = (await api.post('/api/session/new')).body.session
      const { body } = await api.post('/api/chat', { session_id, message: 'work' })
      assert.is(body.answer, 'Done.')
      const { messages } = (await api.get(`/api/session?session_id=${session_id}`)).body.session
      const result = JSON.stringify(messages.find(({ role }: { role: string }) => role === 'tool'))
      assert.match(result, `1\\\\nfile:1\\\\n42\\\\n${UID}\\\\n`)
      assert.match(result, 'Read-only file system')
    })
    await provider.close()
  },
)

proof(
  'bare: the service runs under any user id; a command of the agent is refused with a sentence',
  async () => {
    const provider = await createProvider()
    await checkService('bare', async (api, volume) => {
      const config = join(volume, '.agent/config.yaml')
      writeFileSync(
        config,
        `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\napprovals:\n  mode: off\n`,
      )
      chownSync(config, UID, UID)
      provider.push(
        { toolCalls: [{ id: 'c1', name: 'terminal', arguments: { command: 'echo here' } }] },
        { text: 'Done.' },
      )
      const { session_id } = (await api.post('/api/session/new')).body.session
      await api.post('/api/chat', { session_id, message: 'work' })
      const { messages } = (await api.get(`/api/session?session_id=${session_id}`)).body.session
      const { content } = messages.find(({ role }: { role: string }) => role === 'tool')
      assert.match(content, /Commands cannot run here: .*sh.* is not installed/)
    })
    await provider.close()
  },
)

test.run()
