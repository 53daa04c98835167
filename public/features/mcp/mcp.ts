/** MCP servers of the settings: the list, test results, and the form. */
import { type Problem, problemOf } from '../../strings/problem.ts'
import { computed, signal } from '@preact/signals'
import type { McpServerRow, McpTool } from '../../../lib/schema/mcp.ts'
import type { Shell } from '../shell/shell-state.ts'
import { t } from './strings.ts'
import type { TestStatus } from '../models/providers.ts'
import { asObject } from '../../../lib/base/json.ts'
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

const texts = (value: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries(asObject(value)).map(([name, each]) => [name, String(each)]))

/** READMEs also show the inside of the object, and commas at its end. */
const parseLoose = (text: string): unknown => {
  for (const each of [text, `{${text}}`]) {
    try {
      return JSON.parse(each.replace(/,(?=\s*(?:[}\]]|$))/g, ''))
    } catch {
      // Not written like this.
    }
  }
  return null
}

/** The servers of a JSON snippet with `mcpServers`, as READMEs of servers show it; none when it is something else. */
export const parseSnippet = (text: string): McpDraft[] => {
  const root = asObject(parseLoose(text.trim().replace(/^,|,$/g, '')))
  const isServer = (value: unknown) => {
    const { command, url, serverUrl } = asObject(value)
    return [command, url, serverUrl].some(each => typeof each === 'string' && each !== '')
  }
  const servers = isServer(root) ? { '': root } : asObject(root.mcpServers ?? root.servers ?? root)
  return Object.entries(servers).flatMap(([name, value]) => {
    if (!isServer(value)) return []
    const { command, args, env, url, serverUrl, headers } = asObject(value)
    const words = [command, ...(Array.isArray(args) ? args : [])].map(String)
    return {
      ...NEW_SERVER,
      name,
      ...(typeof command === 'string'
        ? { line: joinWords(words), env: formatPairs(texts(env), '=') }
        : {
            kind: 'http' as const,
            url: String(url ?? serverUrl),
            headers: formatPairs(texts(headers), ': '),
          }),
    }
  })
}

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

export class McpState {
  readonly #shell: Shell
  readonly rows = signal<readonly McpServerRow[]>([])
  readonly problem = signal<Problem | null>(null)
  readonly state = signal<LoadState>('loading')
  readonly tests = signal<Readonly<Record<string, TestStatus>>>({})
  readonly draft = signal<McpDraft | null>(null)
  /** Of a pasted snippet with several servers: each is looked at before it is saved. */
  #next: readonly McpDraft[] = []
  /** Pages of authorization servers, by server: of sign-ins that this page has started. */
  readonly signInPages = signal<Readonly<Record<string, string>>>({})
  /** Something that ends by itself: the list is loaded again until then. */
  readonly waiting = computed(() =>
    this.rows.value.some(row => row.state === 'starting' || row.sign_in.state === 'pending'),
  )

  constructor(shell: Shell) {
    this.#shell = shell
  }

  load(): Promise<void> {
    const { toasts, api } = this.#shell
    return runLoad(this.state, toasts, async () => {
      const reply = await api('GET /api/mcp/servers')
      this.rows.value = reply.servers
      this.problem.value = problemOf(reply)
    })
  }

  async test(name: string): Promise<void> {
    this.#setTest(name, { busy: true })
    try {
      const { ok, message, tools, sentences } = await this.#shell.api('POST /api/mcp/test', {
        name,
      })
      const words = ok ? t('test.ok', { count: tools.length }) : message
      this.#setTest(name, { busy: false, ok, message: words, ...(sentences && { sentences }) })
    } catch (error) {
      this.#setTest(name, { busy: false, ok: false, message: String((error as Error).message) })
    }
    await this.load()
  }

  async startSignIn(name: string): Promise<{ url: string; paste: boolean }> {
    const { [name]: _, ...others } = this.signInPages.value
    this.signInPages.value = others
    this.#setTest(name, null)
    const started = await this.#shell.api('POST /api/mcp/oauth/start', { name })
    this.signInPages.value = { ...others, [name]: started.url }
    await this.load()
    return started
  }

  finishSignIn(address: string): Promise<void> {
    return this.#change(() => this.#shell.api('POST /api/mcp/oauth/finish', { address }))
  }

  cancelSignIn(name: string): Promise<void> {
    return this.#change(() => this.#shell.api('POST /api/mcp/oauth/cancel', { name }))
  }

  signOut(name: string): Promise<void> {
    const { api, toasts } = this.#shell
    return this.#change(async () => {
      const { problem } = await api('POST /api/mcp/oauth/sign-out', { name })
      this.#setTest(name, null)
      toasts.show(problem ?? t('signIn.out.done', { name }))
    })
  }

  /** Fills the form; false when the text has no server. */
  paste(text: string): boolean {
    const [first, ...next] = parseSnippet(text)
    if (!first) return false
    this.draft.value = first
    this.#next = next
    return true
  }

  edit(row: McpServerRow | null): void {
    this.#next = []
    this.draft.value = row ? draftOf(row) : NEW_SERVER
  }

  set(change: Partial<McpDraft>): void {
    if (this.draft.value) this.draft.value = { ...this.draft.value, ...change }
  }

  enable(name: string, enabled: boolean): Promise<void> {
    return this.#change(() => this.#shell.api(serverRoute('PATCH', name), { name, enabled }))
  }

  enableTool({ server, tool }: McpTool, enabled: boolean): Promise<void> {
    return this.#change(() =>
      this.#shell.api(serverRoute('PATCH', server), { name: server, tool, enabled }),
    )
  }

  remove(name: string): Promise<void> {
    const { api, toasts } = this.#shell
    return this.#change(async () => {
      await api(serverRoute('DELETE', name), { name })
      this.#setTest(name, null)
      toasts.show(t('removed', { name }))
    })
  }

  /** Saves the form and tests the server. Throws an Error with a message for the user when a field is malformed. */
  async save(): Promise<void> {
    const form = this.draft.value
    if (!form) return
    const words = splitWords(form.line)
    const env = parsePairs(form.env)
    const headers = parsePairs(form.headers)
    if (!words) throw new Error(t('form.bad.line'))
    if (!env || !headers) throw new Error(t('form.bad.pairs'))
    const [command = '', ...args] = words
    const isProgram = form.kind === 'stdio'
    const name = form.name.trim()
    await this.#shell.api(serverRoute('PUT', name), {
      name,
      ...(isProgram
        ? { command, args, env, url: '', headers: {} }
        : { url: form.url.trim(), headers, command: '', args: [], env: {} }),
      ...(form.isNew ? { create: true } : {}),
    })
    const [next, ...others] = this.#next
    this.draft.value = next ?? null
    this.#next = others
    await this.load()
    void this.test(name)
  }

  #setTest(name: string, status: TestStatus | null): void {
    const { [name]: _, ...others } = this.tests.value
    this.tests.value = status ? { ...others, [name]: status } : others
  }

  async #change(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } finally {
      await this.load()
    }
  }
}

export const mcpOf = lazyState(app => new McpState(app.shell))
