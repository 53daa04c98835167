/** Private directories of sandboxes: a home and a /tmp for each owner, kept from one command to the next. */
import { randomUUID } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isDirectory } from '../../base/directories.ts'
import { sha256 } from '../../base/sha256.ts'
import { readText } from '../../store/read-text.ts'
import { TOOLS_OF_HOME } from './special-paths.ts'

export type OwnDirectories = {
  /** Contains those of every owner. */
  root: string
  home: string
  tmp: string
  /** For scripts of every owner; a sandbox sees only the one it runs, and cannot change it. */
  shared: string
  /** For the sockets of proxies, of every owner as well. */
  network: string
}

/** Lines of a Git configuration that may contain a password or run a program with one. */
const SECRET_LINE = /extraheader|:\/\/[^\s/@]+@|password|token|\bhelper\b|askpass|sslkey/i

const gitConfiguration = (home: string): string | null => {
  const { text } = readText(join(home, '.gitconfig'))
  const lines = text?.split('\n').filter(line => !SECRET_LINE.test(line))
  return lines?.join('\n') ?? null
}

const linkTools = (home: string, ownHome: string): void => {
  for (const name of TOOLS_OF_HOME) {
    if (!existsSync(join(home, name))) continue
    mkdirSync(dirname(join(ownHome, name)), { recursive: true })
    symlinkSync(join(home, name), join(ownHome, name))
  }
}

/** A short path: that of a socket has at most 107 characters, on macOS 103, where the directory of the user is long. */
const parentDir = () => (process.platform === 'darwin' ? '/tmp' : tmpdir())

/** `linksTools`: the private home has symlinks to the tools of the real one, because nothing is mounted there. */
/** Whether bwrap can create mount points in it, at the top and where tools of the real home are shown. */
const isUsable = (own: string, home: string | undefined): boolean => {
  const tools = TOOLS_OF_HOME.filter(name => home !== undefined && isDirectory(join(home, name)))
  const parts = ['', ...tools.flatMap(name => [dirname(name), name])]
  return parts.every(name => {
    const stat = lstatSync(join(own, name), { throwIfNoEntry: false })
    return !stat || (stat.isDirectory() && (stat.mode & 0o700) === 0o700)
  })
}

/** The directories of all owners of one service. */
export class SandboxDirectories {
  readonly #linksTools: boolean
  #root: string | null = null
  readonly #byOwner = new Map<string, OwnDirectories>()

  constructor(linksTools: boolean) {
    this.#linksTools = linksTools
  }

  /** The directories of an owner. `home` is the real one, whose Git identity is copied. */
  of(owner: string, home: string | undefined): OwnDirectories {
    const earlier = this.#byOwner.get(owner)
    if (earlier && (this.#linksTools || isUsable(earlier.home, home))) return earlier
    // A command made it unusable: the next one gets a new home. The old one may still be mounted, so it is only renamed.
    if (earlier) renameSync(earlier.home, `${earlier.home}-${randomUUID()}`)
    this.#root ??= realpathSync(mkdtempSync(join(parentDir(), 'agent-sandbox-')))
    const name = sha256(owner).slice(0, 12)
    const dir = join(this.#root, name)
    const own = {
      root: this.#root,
      home: join(dir, 'home'),
      tmp: join(dir, 'tmp'),
      shared: join(this.#root, 's'),
      network: join(this.#root, 'n'),
    }
    // Before the first command: later, a command could have replaced a directory with a symlink.
    for (const path of Object.values(own)) mkdirSync(path, { recursive: true, mode: 0o700 })
    const text = home === undefined ? null : gitConfiguration(home)
    if (text !== null) writeFileSync(join(own.home, '.gitconfig'), text, { flag: 'wx' })
    if (this.#linksTools && home !== undefined) linkTools(home, own.home)
    this.#byOwner.set(owner, own)
    return own
  }

  close(): void {
    if (this.#root !== null) rmSync(this.#root, { recursive: true, force: true })
    this.#root = null
    this.#byOwner.clear()
  }
}
