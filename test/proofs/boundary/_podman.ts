/** A real podman with an image made of programs of this machine, for tests. No registry is used. */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findProgram } from '../../../lib/base/find-program.ts'

const PATH = process.env.PATH ?? '/usr/bin:/bin'
const PROGRAMS =
  'bash sh env cat ls id mkdir rm sleep head grep sed wc seq stat setsid dd tr base64 timeout sort touch'

/** The program and the libraries that it loads. */
const copyProgram = (root: string, name: string): void => {
  const path = findProgram(PATH, name)
  if (!path) throw new Error(`There is no ${name} on this machine.`)
  const copy = (from: string, to: string) => {
    if (existsSync(root + to)) return
    mkdirSync(dirname(root + to), { recursive: true })
    copyFileSync(realpathSync(from), root + to)
  }
  copy(path, `/usr/bin/${name}`)
  const { stdout } = spawnSync('ldd', [path], { encoding: 'utf8' })
  for (const [library] of stdout.matchAll(/\/\S+/g)) copy(library, library)
}

const makeImage = (dir: string, env: Record<string, string>, image: string): void => {
  const root = join(dir, 'root')
  for (const each of ['usr/bin', 'etc', 'tmp', 'var/tmp', 'proc', 'sys', 'dev', 'run', 'root'])
    mkdirSync(join(root, each), { recursive: true })
  symlinkSync('usr/bin', join(root, 'bin'))
  for (const name of PROGRAMS.split(' ')) copyProgram(root, name)
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\n')
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\n')
  execFileSync('tar', ['-C', root, '-cf', join(dir, 'root.tar'), '.'])
  execFileSync('podman', ['import', '-q', join(dir, 'root.tar'), image], { env, stdio: 'ignore' })
}

export type Podman = { env: Record<string, string>; image: string; close: () => void }

/** Null, and a printed reason, where podman is missing or cannot run containers. */
export const openPodman = (): Podman | null => {
  const skip = (reason: string) => {
    console.log(`skipped: ${reason}`)
    return null
  }
  if (!findProgram(PATH, 'podman')) return skip('podman is not installed')
  const dir = mkdtempSync(join(tmpdir(), 'agent-podman-'))
  const conf = join(dir, 'containers.conf')
  // Within the limits of this process, which a service may not raise.
  const runtime = findProgram(PATH, 'runc') ? '[engine]\nruntime = "runc"\n' : ''
  writeFileSync(
    conf,
    `[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=20000:20000"]\n${runtime}`,
  )
  const env = { PATH, HOME: process.env.HOME ?? '/root', CONTAINERS_CONF: conf }
  const image = `localhost/agent-webui-test:${process.pid}`
  const close = () => {
    spawnSync('podman', ['rmi', '--force', image], { env, stdio: 'ignore' })
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    makeImage(dir, env, image)
    const args = ['run', '--rm', '--network', 'none', image, 'cat', '/proc/self/status']
    const tried = spawnSync('podman', args, { env, encoding: 'utf8', timeout: 30_000 })
    if (tried.status === 0) return { env, image, close }
    close()
    return skip(`podman cannot run a container here: ${tried.stderr.trim()}`)
  } catch (error) {
    close()
    return skip(`podman cannot make an image here: ${String(error)}`)
  }
}

/** Processes of this machine, containers included, whose command line contains the text. */
export const processesWith = (text: string): string[] =>
  execFileSync('ls', ['/proc'], { encoding: 'utf8' })
    .split('\n')
    .filter(name => /^\d+$/.test(name))
    .filter(pid => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').includes(text)
      } catch {
        // It has ended.
        return false
      }
    })
