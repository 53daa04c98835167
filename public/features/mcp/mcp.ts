/** MCP servers of the settings: the list, test results, and the form. */
import { type Problem, problemOf } from '../../strings/problem.ts'
import { computed, signal } from '@preact/signals'
import type { McpServerRow, McpTool } from '../../../lib/schema/mcp.ts'
import type { App } from '../../app.ts'
import { t } from './strings.ts'
import type { TestStatus } from '../models/providers.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import { type LoadState, runLoad } from '../../parts/load-state.ts'

/** The fields of the form. The name of a saved server cannot change. */
export type McpDraft = {
  isNew: boolean
  name: string
  kind: 'stdio' | 'http'
  line: string
  env: string
  url: string
  headers: string
}

const NEW_SERVER: McpDraft = {
  isNew: true,
  name: '',
  kind: 'stdio',
  line: '',
  env: '',
  url: '',
  headers: '',
}

/** Splits a command line with the quoting of a POSIX shell; null when a quote is unclosed. */
export const splitWords = (line: string): string[] | null => {
  const words: string[] = []
  let word: string | null = null
  let quote = ''
  for (let at = 0; at < line.length; at++) {
    const letter = line[at] as string
    if (letter === '\\' && quote !== "'" && at + 1 < line.length) word = (word ?? '') + line[++at]
    else if (quote && letter === quote) quote = ''
    else if (!quote && (letter === '"' || letter === "'")) {
      quote = letter
      word ??= ''
    } else if (!quote && /\s/.test(letter)) {
      if (word !== null) words.push(word)
      word = null
    } else word = (word ?? '') + letter
  }
  if (quote) return null
  return word === null ? words : [...words, word]
}

export const joinWords = (words: readonly string[]): string =>
  words
    .map(word =>
      word === '' || /[\s"'\\]/.test(word) ? `"${word.replace(/["\\]/g, '\\$&')}"` : word,
    )
    .join(' ')

/** One pair per line, `NAME=value` or `Name: value`; null when a line is neither. */
export const parsePairs = (text: string): Record<string, string> | null => {
  const pairs: Record<string, string> = {}
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const [, name, value] = /^\s*([^\s=:]+)\s*[=:]\s*(.*)$/.exec(line) ?? []
    if (name === undefined || value === undefined) return null
    pairs[name] = value.trim()
  }
  return pairs
}

const formatPairs = (pairs: Readonly<Record<string, string>>, between: string): string =>
  Object.entries(pairs)
    .map(([name, value]) => name + between + value)
    .join('\n')

const draftOf = (row: McpServerRow): McpDraft => ({
  isNew: false,
  name: row.name,
  kind: row.transport ?? (row.url ? 'http' : 'stdio'),
  line: joinWords([row.command, ...row.args].filter((word, at) => at > 0 || word !== '')),
  env: formatPairs(row.env, '='),
  url: row.url,
  headers: formatPairs(row.headers, ': '),
})

/** The route of one server, whose name is a path segment. */
const serverRoute = <M extends 'PUT' | 'PATCH' | 'DELETE'>(method: M, name: string) =>
  `${method} /api/mcp/servers/${encodeURIComponent(name)}` as `${M} /api/mcp/servers/:name`

type McpOptions = Pick<App, 'api' | 'toasts'>

const createMcp = ({ api, toasts }: McpOptions) => {
  const rows = signal<readonly McpServerRow[]>([])
  const problem = signal<Problem | null>(null)
  const state = signal<LoadState>('loading')
  const tests = signal<Readonly<Record<string, TestStatus>>>({})
  const draft = signal<McpDraft | null>(null)
  /** Pages of authorization servers, by server: of sign-ins that this page has started. */
  const signInPages = signal<Readonly<Record<string, string>>>({})

  const load = (): Promise<void> =>
    runLoad(state, toasts, async () => {
      const reply = await api('GET /api/mcp/servers')
      rows.value = reply.servers
      problem.value = problemOf(reply)
    })

  const setTest = (name: string, status: TestStatus | null): void => {
    const { [name]: _, ...others } = tests.value
    tests.value = status ? { ...others, [name]: status } : others
  }

  const change = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work()
    } finally {
      await load()
    }
  }

  const test = async (name: string): Promise<void> => {
    setTest(name, { busy: true })
    try {
      const { ok, message, tools } = await api('POST /api/mcp/test', { name })
      const words = ok ? t('test.ok', { count: tools.length }) : message
      setTest(name, { busy: false, ok, message: words })
    } catch (error) {
      setTest(name, { busy: false, ok: false, message: String((error as Error).message) })
    }
    await load()
  }

  return {
    rows,
    problem,
    state,
    tests,
    draft,
    signInPages,
    load,
    test,
    /** Something that ends by itself: the list is loaded again until then. */
    waiting: computed(() =>
      rows.value.some(row => row.state === 'starting' || row.sign_in.state === 'pending'),
    ),
    async startSignIn(name: string): Promise<{ url: string; paste: boolean }> {
      const { [name]: _, ...others } = signInPages.value
      signInPages.value = others
      setTest(name, null)
      const started = await api('POST /api/mcp/oauth/start', { name })
      signInPages.value = { ...others, [name]: started.url }
      await load()
      return started
    },
    finishSignIn: (address: string) => change(() => api('POST /api/mcp/oauth/finish', { address })),
    cancelSignIn: (name: string) => change(() => api('POST /api/mcp/oauth/cancel', { name })),
    signOut: (name: string) =>
      change(async () => {
        const { problem } = await api('POST /api/mcp/oauth/sign-out', { name })
        setTest(name, null)
        toasts.show(problem ?? t('signIn.out.done', { name }))
      }),
    edit: (row: McpServerRow | null): void => {
      draft.value = row ? draftOf(row) : NEW_SERVER
    },
    set: (change: Partial<McpDraft>): void => {
      if (draft.value) draft.value = { ...draft.value, ...change }
    },
    enable: (name: string, enabled: boolean) =>
      change(() => api(serverRoute('PATCH', name), { name, enabled })),
    enableTool: ({ server, tool }: McpTool, enabled: boolean) =>
      change(() => api(serverRoute('PATCH', server), { name: server, tool, enabled })),
    remove: (name: string) =>
      change(async () => {
        await api(serverRoute('DELETE', name), { name })
        setTest(name, null)
        toasts.show(t('removed', { name }))
      }),
    /** Saves the form and tests the server. Throws an Error with a message for the user when a field is malformed. */
    async save(): Promise<void> {
      const form = draft.value
      if (!form) return
      const words = splitWords(form.line)
      const env = parsePairs(form.env)
      const headers = parsePairs(form.headers)
      if (!words) throw new Error(t('form.bad.line'))
      if (!env || !headers) throw new Error(t('form.bad.pairs'))
      const [command = '', ...args] = words
      const isProgram = form.kind === 'stdio'
      const name = form.name.trim()
      await api(serverRoute('PUT', name), {
        name,
        ...(isProgram
          ? { command, args, env, url: '', headers: {} }
          : { url: form.url.trim(), headers, command: '', args: [], env: {} }),
        ...(form.isNew ? { create: true } : {}),
      })
      draft.value = null
      await load()
      void test(name)
    },
  }
}

export type McpState = ReturnType<typeof createMcp>

export const mcpOf = lazyState(createMcp)
