import { delimiter, join } from 'node:path'
import { isDirectory, namesIn } from '../base/directories.ts'
import { readText } from '../store/read-text.ts'

type Variables = Readonly<Record<string, string>>

/** A directory below HOME, or below the directory that a variable names. */
const BELOW_HOME: readonly (readonly [directory: string, variable?: string, below?: string])[] = [
  ['.local/bin'],
  ['bin'],
  ['.cargo/bin', 'CARGO_HOME', 'bin'],
  ['go/bin', 'GOBIN', ''],
  ['.volta/bin', 'VOLTA_HOME', 'bin'],
  ['.local/share/mise/shims', 'MISE_DATA_DIR', 'shims'],
  ['.asdf/shims', 'ASDF_DATA_DIR', 'shims'],
  ['.pyenv/shims', 'PYENV_ROOT', 'shims'],
  ['.pyenv/bin', 'PYENV_ROOT', 'bin'],
  ['.rbenv/shims', 'RBENV_ROOT', 'shims'],
  ['.local/share/fnm/aliases/default/bin', 'FNM_DIR', 'aliases/default/bin'],
  ['.bun/bin', 'BUN_INSTALL', 'bin'],
  ['.deno/bin', 'DENO_INSTALL', 'bin'],
  ['.local/share/pnpm', 'PNPM_HOME', ''],
  ['.npm-global/bin'],
  ['.yarn/bin'],
  ['.dotnet/tools'],
]

const OF_THE_SYSTEM = [
  '/usr/local/bin',
  '/usr/local/go/bin',
  '/opt/homebrew/bin',
  '/home/linuxbrew/.linuxbrew/bin',
  '/snap/bin',
]

/** Highest first: `v20.9.0`, `v18.20.4`. */
const byVersion = (a: string, b: string): number => b.localeCompare(a, 'en', { numeric: true })

const installedVersions = (nvm: string): string[] =>
  namesIn(join(nvm, 'versions', 'node'))
    .filter(name => /^v\d/.test(name))
    .sort(byVersion)

const MAX_ALIASES = 8
const MAX_ALIAS_BYTES = 1_000

/**
 * The directory of the version that nvm's alias `default` selects, else of the newest one. An alias is a file whose text
 * is a version (`20`, `v20.9.0`), the name of another alias (`lts/*`), or a word: `node` and `stable` are the newest.
 */
const nvmDirectory = (nvm: string): string[] => {
  const versions = installedVersions(nvm)
  if (versions.length === 0) return []
  let alias = 'default'
  for (let round = 0; round < MAX_ALIASES; round++) {
    if (/(?:^|\/)\.\.?(?:\/|$)/.test(alias)) break
    const target = readText(join(nvm, 'alias', alias), { maxBytes: MAX_ALIAS_BYTES }).text?.trim()
    if (!target) break
    alias = target
  }
  if (alias === 'system') return []
  const prefix = `v${alias.replace(/^v/, '')}`
  const match = versions.find(version => version === prefix || version.startsWith(`${prefix}.`))
  return [join(nvm, 'versions', 'node', match ?? versions[0] ?? '', 'bin')]
}

const candidates = (env: Variables): string[] => {
  const { HOME: home } = env
  if (!home) return OF_THE_SYSTEM
  const own = BELOW_HOME.map(([directory, variable, below]) => {
    const root = variable === undefined ? undefined : env[variable]
    return root ? join(root, below ?? '') : join(home, directory)
  })
  return [...own, ...nvmDirectory(env.NVM_DIR || join(home, '.nvm')), ...OF_THE_SYSTEM]
}

/** Existing directories of tool managers that PATH lacks. */
export const missingToolDirectories = (env: Variables): string[] => {
  // Without PATH the shell has a default of its own, which a value would replace.
  if (process.platform === 'win32' || !env.PATH) return []
  const present = new Set(env.PATH.split(delimiter).map(dir => dir.replace(/\/+$/, '')))
  return [...new Set(candidates(env))].filter(dir => {
    const bare = dir.replace(/\/+$/, '')
    return (
      bare.startsWith('/') && !present.has(bare) && !bare.includes(delimiter) && isDirectory(bare)
    )
  })
}

/** The same variables with those directories at the end of PATH, so that they never replace a program of the system. */
export const withToolDirectories = (env: Variables): Variables => {
  const added = missingToolDirectories(env)
  if (added.length === 0) return env
  return { ...env, PATH: [env.PATH, ...added].join(delimiter) }
}
