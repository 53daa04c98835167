/** Which language server reads which files, and how it is started. */
import { basename, extname } from 'node:path'
import { asObject, asStrings, asString, isObject, type JsonObject } from '../../base/json.ts'
import { yamlFlag } from '../../store/yaml-file.ts'

export type Server = {
  id: string
  /** Command lines, best first. One that exits before it has answered is followed by the next. */
  commands: readonly (readonly string[])[]
  /** Language names of the protocol by file ending with its dot, or by file name. */
  languages: Readonly<Record<string, string>>
  /** The nearest directory with one of these is the root; without any, the workspace is. */
  rootMarkers: readonly string[]
  /** It runs code of the project: plugins, build scripts, macros. */
  runsProject?: true
  /** `command` of config.yaml. */
  isConfigured?: true
  env: Readonly<Record<string, string>>
  options: JsonObject
}

type ServerRow = Pick<Server, 'id' | 'commands' | 'languages' | 'rootMarkers' | 'runsProject'>

const TYPESCRIPT = {
  '.ts': 'typescript',
  '.mts': 'typescript',
  '.cts': 'typescript',
  '.tsx': 'typescriptreact',
  '.js': 'javascript',
  '.mjs': 'javascript',
  '.cjs': 'javascript',
  '.jsx': 'javascriptreact',
}

/** Names as the host agent has them. */
const ROWS: readonly ServerRow[] = [
  {
    id: 'typescript',
    // Since version 7 the compiler is the server; older ones exit at once, because they do not know the option.
    commands: [
      ['tsc', '--lsp', '--stdio'],
      ['tsgo', '--lsp', '--stdio'],
    ],
    languages: TYPESCRIPT,
    rootMarkers: [],
  },
  {
    id: 'typescript',
    // It loads the compiler and the plugins of the project.
    commands: [['typescript-language-server', '--stdio']],
    languages: TYPESCRIPT,
    rootMarkers: [],
    runsProject: true,
  },
  {
    id: 'pyright',
    commands: [
      ['pyright-langserver', '--stdio'],
      ['basedpyright-langserver', '--stdio'],
    ],
    languages: { '.py': 'python', '.pyi': 'python' },
    rootMarkers: [],
  },
  {
    id: 'gopls',
    commands: [['gopls']],
    languages: { '.go': 'go' },
    rootMarkers: ['go.work', 'go.mod'],
  },
  {
    id: 'rust-analyzer',
    commands: [['rust-analyzer']],
    languages: { '.rs': 'rust' },
    rootMarkers: ['Cargo.toml'],
    runsProject: true,
  },
  {
    id: 'clangd',
    commands: [['clangd']],
    languages: {
      '.c': 'c',
      '.h': 'c',
      '.cc': 'cpp',
      '.cpp': 'cpp',
      '.cxx': 'cpp',
      '.hh': 'cpp',
      '.hpp': 'cpp',
    },
    rootMarkers: ['compile_commands.json', '.clangd'],
  },
]

const isDisabled = (entry: JsonObject): boolean => yamlFlag(entry.disabled) === true

/** What a person can change about any server. */
const settingsOf = (entry: JsonObject) => {
  const command = asStrings(entry.command)
  return {
    ...(command.length > 0 && { commands: [command], isConfigured: true as const }),
    env: Object.fromEntries(
      Object.entries(asObject(entry.env)).map(([name, value]) => [name, String(value)]),
    ),
    options: asObject(entry.initialization_options),
  }
}

const ownServer = (id: string, entry: JsonObject): Server[] => {
  const endings = asStrings(entry.extensions)
  const settings = settingsOf(entry)
  if (!settings.isConfigured || endings.length === 0) return []
  const language = asString(entry.language_id)
  return [
    {
      id,
      commands: [],
      languages: Object.fromEntries(
        endings.map(ending => [ending, language || ending.replace(/^\./, '')]),
      ),
      rootMarkers: asStrings(entry.root_markers),
      ...settings,
    },
  ]
}

/** The servers of `lsp.servers` before the built-in ones. */
export const serversOf = (configured: unknown): Server[] => {
  const entries = asObject(configured)
  const isBuiltIn = (id: string) => ROWS.some(row => row.id === id)
  const own = Object.entries(entries).flatMap(([id, entry]) =>
    !isBuiltIn(id) && isObject(entry) && !isDisabled(entry) ? ownServer(id, entry) : [],
  )
  const builtIn = ROWS.flatMap((row, at) => {
    const entry = asObject(entries[row.id])
    const settings = settingsOf(entry)
    // One command replaces those of all rows of this name.
    const isRepeated = settings.isConfigured && ROWS.findIndex(({ id }) => id === row.id) < at
    return isDisabled(entry) || isRepeated ? [] : [{ ...row, ...settings }]
  })
  return [...own, ...builtIn]
}

/** Undefined: the server does not read this file. */
export const languageOf = ({ languages }: Server, path: string): string | undefined =>
  languages[basename(path)] ?? languages[extname(path).toLowerCase()]
