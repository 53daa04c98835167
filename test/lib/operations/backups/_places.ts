/** A home with everything that a backup has to keep apart, and archives that no program of ours writes. */
import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { zstdCompressSync } from 'node:zlib'
import tar from 'tar-stream'
import { type BackupOptions, makeBackup } from '../../../../lib/operations/backups/backup.ts'
import { openDatabase } from '../../../../lib/store/sqlite.ts'
import { tempDir } from '../../../_temp-dir.ts'

export const LONG = `${'long-'.repeat(40)}.md`

/** `<dir>/home` with its state directory, and `<dir>/out` for backups. */
export const createPlaces = () => {
  const dir = tempDir('backup')
  const home = join(dir, 'home')
  const state = join(home, 'webui')
  const write = (path: string, text: string | Buffer, mode = 0o600) => {
    const full = join(home, path)
    mkdirSync(join(full, '..'), { recursive: true, mode: 0o700 })
    writeFileSync(full, text, { mode })
    chmodSync(full, mode)
    return full
  }
  mkdirSync(join(dir, 'out'))
  write('webui/sessions/a.jsonl', '{"n":1}\n{"n":2}\n')
  write('webui/settings.json', '{"theme":"dark"}\n')
  write('webui/.signing_key', 'signing-key-0123456789')
  write('webui/people.json', '{"secret":"person-0123456789"}')
  write('webui/instance.lock', 'held')
  write('webui/cache/catalog.db', 'rebuilt')
  write('config.yaml', 'model:\n  default: x\n')
  write('.env', 'OPENAI_API_KEY=sk-0123456789abcdef\n')
  write('auth.json', '{"token":"auth-0123456789"}')
  write('home/.ssh/id_ed25519', 'ssh-0123456789')
  write('cache/page.html', 'cached')
  write(`skills/größe 名前/${LONG}`, 'a skill')
  write('scripts/run.sh', '#!/bin/sh\n', 0o700)
  write('bin/own-tool', '#!/bin/sh\n', 0o700)
  utimesSync(join(home, 'scripts/run.sh'), 1_500_000_000.25, 1_500_000_000.25)
  symlinkSync('größe 名前', join(home, 'skills/relative'))
  symlinkSync(join(home, 'scripts/run.sh'), join(home, 'skills/absolute'))
  symlinkSync('/etc/hostname', join(home, 'SOUL.md'))
  symlinkSync('/etc', join(home, 'outside'))
  write('profiles/work/SOUL.md', 'work')
  const sparse = write('sparse.bin', 'start')
  truncateSync(sparse, 3 * 1024 * 1024)
  writeFileSync(sparse, 'end', { flag: 'a' })
  execFileSync('mkfifo', [join(home, 'pipe')])
  const db = openDatabase(join(home, 'state.db'), {
    pragmas: ['journal_mode = WAL', 'wal_autocheckpoint = 0'],
  })
  db.exec("create table t(x); insert into t values('in the log')")

  const options = (name: string, more: Partial<BackupOptions> = {}): BackupOptions => ({
    places: [
      { root: 'state', dir: state, kind: 'state' },
      { root: 'home', dir: home, kind: 'home' },
      { root: 'profiles/work', dir: join(home, 'profiles/work'), kind: 'home' },
    ],
    excluded: [join(home, 'profiles')],
    target: join(dir, 'out', name),
    now: Date.now(),
    passphrase: null,
    withoutKeys: (_, text) => text,
    version: 'test',
    workFactor: 4,
    ...more,
  })
  return {
    dir,
    home,
    state,
    out: join(dir, 'out'),
    write,
    options,
    make: (name: string, more: Partial<BackupOptions> = {}) => makeBackup(options(name, more)),
    closeDatabase: () => db.close(),
  }
}

/** Path → what is there: content, link target, or nothing for a directory; with the mode of files. */
export const readTree = (dir: string, path = ''): Record<string, string> => {
  const tree: Record<string, string> = {}
  for (const name of readdirSync(join(dir, path)).toSorted()) {
    const inner = path === '' ? name : `${path}/${name}`
    const full = join(dir, inner)
    const found = lstatSync(full)
    if (found.isSymbolicLink()) tree[inner] = `→ ${readlinkSync(full)}`
    else if (found.isDirectory()) Object.assign(tree, { [inner]: '/' }, readTree(dir, inner))
    else if (found.isFile()) {
      const hash = createHash('sha256').update(readFileSync(full)).digest('hex')
      tree[inner] = `${(found.mode & 0o777).toString(8)} ${hash}`
    }
  }
  return tree
}

export type Raw = {
  name: string
  text?: string
  type?: 'file' | 'directory' | 'symlink' | 'link' | 'fifo' | 'character-device'
  linkname?: string
}

const HEAD = {
  program: 'agent-webui',
  format: 1,
  version: 'test',
  created_at: '2026-01-01T00:00:00.000Z',
  keys: 'none',
  profiles: ['default'],
}

const lineOf = ({ name, text = '', type = 'file', linkname }: Raw): string =>
  JSON.stringify({
    path: name,
    type: type === 'symlink' ? 'link' : type,
    mode: 0o600,
    ...(type === 'file' && {
      size: Buffer.byteLength(text),
      sha256: createHash('sha256').update(text).digest('hex'),
    }),
    ...(type === 'symlink' && { target: linkname }),
  })

/** A compressed archive with a fitting list of its entries, unless `manifest` is another one. */
export const forge = async (
  entries: readonly Raw[],
  { head = HEAD as unknown, manifest }: { head?: unknown; manifest?: string | null } = {},
): Promise<Buffer> => {
  const pack = tar.pack()
  const all: Raw[] = [{ name: 'agent-webui-backup.json', text: JSON.stringify(head) }, ...entries]
  const lines = manifest === undefined ? `${all.map(lineOf).join('\n')}\n` : manifest
  const last: Raw[] = lines === null ? [] : [{ name: 'manifest.jsonl', text: lines }]
  for (const { name, text = '', type = 'file', linkname } of [...all, ...last])
    pack.entry({ name, type, mode: 0o600, ...(linkname !== undefined && { linkname }) }, text)
  pack.finalize()
  return zstdCompressSync(await buffer(pack as unknown as AsyncIterable<Buffer>))
}

export const HOME: Raw = { name: 'home', type: 'directory' }
