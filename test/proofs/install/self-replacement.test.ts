/** A program replaces itself by a release: the download is checked, and a version that does not work is undone. */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { until } from '../../_wait.ts'
import { freePort } from '../../../build/start-program.ts'
import { isNewer } from '../../../lib/updates/release.ts'
import { bundleProgram } from '../../_program.ts'

const test = suite('self-replacement')

const source = readFileSync(bundleProgram(join(import.meta.dirname, '_small-service.ts')), 'utf8')
const build = (version: string, behavior = 'works'): string =>
  source.replace('VERSION BEHAVIOR', `${version} ${behavior}`)

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** What the server of releases has. */
type Offered = {
  next: string
  sha?: string
  /** The connection ends in the middle of the download. */
  cut?: boolean
}

type Given = {
  env?: Record<string, string>
  /** Mount options of the program's directory, a file system of its own. */
  mount?: string
}

/** Runs the service with a directory of its own mounted over that of the program; needs no rights. */
const IN_MOUNT = `mount -t tmpfs -o "\${1#ro,}" tmpfs bin && cat saved.mjs > bin/program.mjs && mount -o "remount,$1" bin && shift && exec "$@"`

const setUp = async (next: string, given: Given = {}) => {
  const dir = mkdtempSync(join(tmpdir(), 'replace-'))
  const file = join(dir, 'bin', 'program.mjs')
  const state = join(dir, 'state')
  for (const each of ['bin', 'state']) mkdirSync(join(dir, each))
  const old = build('1.0.0')
  writeFileSync(file, old)
  writeFileSync(join(dir, 'saved.mjs'), old)
  let offered: Offered = { next }
  const releaseOf = ({ next: text, sha = sha256(text) }: Offered) => ({
    version: '1.1.0',
    notes: 'Better.',
    files: { node: { url: 'next.mjs', sha256: sha, size: Buffer.byteLength(text) } },
  })
  const server = createServer((request, response) => {
    const text = offered.next
    if (request.url === '/releases.json') response.end(JSON.stringify(releaseOf(offered)))
    else if (!offered.cut) response.end(text)
    else response.write(text.slice(0, text.length / 2), () => response.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const port = await freePort()
  const pids = new Set<number>()
  const start = () => {
    const command = [process.execPath, file, 'serve']
    const inMount = given.mount
      ? ['unshare', '-r', '-m', 'sh', '-c', IN_MOUNT, 'sh', given.mount, ...command]
      : command
    const child = spawn(inMount[0]!, inMount.slice(1), {
      cwd: dir,
      env: {
        PATH: process.env.PATH,
        SMALL_PORT: String(port),
        SMALL_STATE: state,
        SMALL_RELEASES: `http://127.0.0.1:${(server.address() as AddressInfo).port}/releases.json`,
        ...given.env,
      },
      stdio: 'ignore',
    })
    pids.add(child.pid ?? 0)
    return child
  }
  type Health = { version: string; pid: number }
  const ask = async (path: string) =>
    (await fetch(`http://127.0.0.1:${port}${path}`)).json() as Promise<Health & { message: string }>
  /** Resolves when the service answers as this version. */
  const answers = (version: string): Promise<void> =>
    until(async () => {
      const found = await ask('/health').catch(() => null)
      if (found) pids.add(found.pid)
      return found?.version === version
    }, `an answer of ${version}`)
  /** Resolves with the outcome of the update. */
  const outcome = async () => {
    const path = join(state, 'updates', 'last.json')
    const isOver = () => existsSync(path) && !existsSync(join(state, 'updates', 'switch.json'))
    await until(isOver, 'the outcome')
    return JSON.parse(readFileSync(path, 'utf8')) as { ok: boolean; message: string; to: string }
  }
  const child = start()
  await answers('1.0.0')
  /** The program's directory as the service sees it. */
  const own = join(given.mount ? `/proc/${child.pid}/root` : '', dir, 'bin')
  return {
    file: join(own, 'program.mjs'),
    old,
    child,
    start,
    answers,
    outcome,
    offer(release: Offered) {
      offered = release
    },
    update: async () => (await ask('/update')).message,
    names: () => readdirSync(own).toSorted(),
    close() {
      for (const pid of pids) {
        try {
          process.kill(pid, 'SIGKILL')
        } catch {
          // It has ended.
        }
      }
      server.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

test('versions are compared by number; a build between releases is not older than one', () => {
  assert.ok(isNewer('1.10.0', 'v1.9.9'))
  for (const [version, than] of [
    ['1.0.0', '1.0.0'],
    ['1.0.0', '1.0.1'],
    ['1.0.1', 'abc1234'],
  ] as const)
    assert.not(isNewer(version, than))
})

const size = (copies: number): string => `mode=755,size=${Math.ceil(source.length * copies)}`
const canMount = spawnSync('unshare', ['-r', '-m', 'true']).status === 0
if (!canMount) console.log('  skipped: no file systems of their own can be mounted here')

const refusedReleases: [what: string, offered: Offered, why: RegExp][] = [
  [
    'a wrong checksum',
    { next: build('1.1.0'), sha: '0'.repeat(64) },
    /checksum of the release. Nothing/,
  ],
  [
    'a program that does not start',
    { next: build('1.1.0', 'does-not-start') },
    /does not run here/,
  ],
  ['another version than announced', { next: build('1.0.5') }, /does not run here/],
  [
    'a download that is cut',
    { next: build('1.1.0'), cut: true },
    /^The download from 127\.0\.0\.1:\d+ ended early\. Nothing was changed\.$/,
  ],
]

test('releases that are damaged or do not run are refused before anything is changed', async () => {
  const service = await setUp('')
  try {
    for (const [what, offered, why] of refusedReleases) {
      service.offer(offered)
      const said = await service.update()
      assert.ok(why.test(said), `${what}: ${said}`)
      assert.is(readFileSync(service.file, 'utf8'), service.old, what)
      assert.equal(service.names(), ['program.mjs'], what)
    }
    await service.answers('1.0.0')
  } finally {
    service.close()
  }
})

const refused: [what: string, next: string, given: Given, why: RegExp][] = [
  ['a full disk', build('1.1.0'), { env: { SMALL_FULL: '1' } }, /backup before the update failed/],
]
const refusedByDisk: typeof refused = [
  [
    'a disk that is full during the download',
    build('1.1.0'),
    { mount: size(1.5) },
    /^There is no space left in .*bin for the new version\. Nothing was changed\.$/,
  ],
  [
    'a disk that is full before the old version is copied',
    build('1.1.0'),
    { mount: size(2.5) },
    /^There is no space left in .*bin for the new version\. Nothing was changed\.$/,
  ],
  [
    'a directory that is read-only',
    build('1.1.0'),
    { mount: `ro,${size(4)}` },
    /^This user may not write to .*bin\. Update it the way it was installed\.$/,
  ],
]

for (const [what, next, given, why] of [...refused, ...(canMount ? refusedByDisk : [])]) {
  test(`${what}: refused before anything is changed`, async () => {
    const service = await setUp(next, given)
    try {
      const said = await service.update()
      assert.ok(why.test(said), said)
      assert.is(readFileSync(service.file, 'utf8'), service.old)
      assert.equal(service.names(), ['program.mjs'])
      await service.answers('1.0.0')
    } finally {
      service.close()
    }
  })
}

test('a version that works replaces the old one, which is removed then', async () => {
  const next = build('1.1.0')
  const service = await setUp(next)
  try {
    assert.is(await service.update(), 'Updated; restarting')
    await service.answers('1.1.0')
    assert.equal(
      { ...(await service.outcome()), at: 0 },
      { at: 0, ok: true, from: '1.0.0', to: '1.1.0', message: '' },
    )
    assert.is(readFileSync(service.file, 'utf8'), next)
    assert.equal(service.names(), ['program.mjs'])
  } finally {
    service.close()
  }
})

for (const [behavior, why] of [
  ['crashes', /ended right after its start/],
  ['answers-500', /health check answered 500/],
] as const) {
  test(`a version that ${behavior} is undone, and the old one answers again`, async () => {
    const service = await setUp(build('1.1.0', behavior))
    try {
      assert.is(await service.update(), 'Updated; restarting')
      const { ok, message } = await service.outcome()
      assert.not(ok)
      assert.match(message, why)
      await service.answers('1.0.0')
      assert.is(readFileSync(service.file, 'utf8'), service.old)
      assert.equal(service.names(), ['program.mjs', 'program.mjs.failed'])
    } finally {
      service.close()
    }
  })
}

test('a service that is killed before the switch starts again as it was', async () => {
  const service = await setUp(build('1.1.0'), { env: { SMALL_WAIT: '60000' } })
  try {
    assert.is(await service.update(), 'Updated; restarting')
    const ended = new Promise(resolve => service.child.once('exit', resolve))
    service.child.kill('SIGKILL')
    await ended
    assert.is(readFileSync(service.file, 'utf8'), service.old)
    service.start()
    await service.answers('1.0.0')
  } finally {
    service.close()
  }
})

test.run()
