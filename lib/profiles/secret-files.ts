/** Which files hold secrets. Masking reads them, the start and `doctor --fix` make them private. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { entriesIn } from '../base/directories.ts'

/** Credential files of related programs, beside auth.json. */
export const CREDENTIAL_FILES = [
  '.anthropic_oauth.json',
  'google_token.json',
  'google_client_secret.json',
]

/** Sign-ins to MCP servers: one file each. The first directory is the host agent's, the second ours. */
export const TOKEN_DIRS = ['mcp-tokens', join('mcp-tokens', 'agent-webui')]

type SecretFiles = {
  /** Below a home, or below the state directory. */
  in: 'home' | 'state'
  dir: string
  names: RegExp
  /** What the start does with one that is open to others. A person may have shared `ask` on purpose: it is named, and `doctor --fix` changes it. */
  start: 'restrict' | 'ask'
}

const TABLE: readonly SecretFiles[] = [
  {
    in: 'home',
    dir: '',
    // Also copies, such as .env.bak.
    names: /^(?:\.env(?!\.(?:example|sample|template|dist)$)(?:\..+)?|auth\.json(?:\..+)?)$/,
    start: 'restrict',
  },
  {
    in: 'home',
    dir: '',
    names: new RegExp(`^(?:${CREDENTIAL_FILES.map(name => RegExp.escape(name)).join('|')})$`),
    start: 'restrict',
  },
  ...[...TOKEN_DIRS, 'pairing', 'whatsapp'].map(
    dir => ({ in: 'home', dir, names: /\.json$/, start: 'restrict' }) as const,
  ),
  // `model.api_key`, headers of MCP servers, and the programs that hooks start.
  { in: 'home', dir: '', names: /^config\.ya?ml(?:\..+)?$/, start: 'ask' },
  {
    in: 'state',
    dir: '',
    // Not locks and databases: closing one of those that is open elsewhere in this process would end its POSIX locks.
    names: /^(?:\.signing_key|\.password(?:_set)?|\.second_factor|(?!instance\.).*\.jsonl?)$/,
    start: 'restrict',
  },
]

/** None for a directory that is missing or cannot be read. */
export const homesOf = (baseHome: string): string[] => {
  const dir = join(baseHome, 'profiles')
  const profiles = entriesIn(dir).filter(entry => entry.isDirectory())
  return [baseHome, ...profiles.map(({ name }) => join(dir, name))]
}

export type SecretFile = { path: string; start: SecretFiles['start']; isManaged: boolean }

/** Those that exist. A link counts: what it leads to is looked at. */
export const secretFiles = (baseHome: string, stateDir: string): SecretFile[] => {
  const roots = [
    ...homesOf(baseHome).map(dir => ({ kind: 'home', dir })),
    { kind: 'state', dir: stateDir },
  ]
  return roots.flatMap(root => {
    const isManaged = root.kind === 'home' && existsSync(join(root.dir, '.managed'))
    return TABLE.filter(row => row.in === root.kind).flatMap(({ dir, names, start }) =>
      entriesIn(join(root.dir, dir))
        .filter(entry => !entry.isDirectory() && names.test(entry.name))
        .map(({ name }) => ({ path: join(root.dir, dir, name), start, isManaged })),
    )
  })
}
