/** Parses `mcp_servers` of config.yaml. Entries are checked one by one: a mistake disables one server, not all. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isObject } from '../base/json.ts'
import { yamlFlag } from '../store/yaml-file.ts'

/** The tools of a server that models get. An empty `include` means all. */
export type ToolFilter = {
  include: readonly string[]
  exclude: readonly string[]
  resources: boolean
  prompts: boolean
}

type CommonSettings = {
  name: string
  enabled: boolean
  timeoutMs: number
  connectTimeoutMs: number
  filter: ToolFilter
  /** Of everything the connection depends on: the server is restarted when it changes. */
  hash: string
}

export type StdioServer = CommonSettings & {
  kind: 'stdio'
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  cwd: string | null
}
export type HttpServer = CommonSettings & {
  kind: 'http'
  url: string
  headers: Readonly<Record<string, string>>
  /** Use the older SSE transport. Without it, SSE is tried when the server rejects Streamable HTTP. */
  sse: boolean
}
export type ServerConfig = StdioServer | HttpServer

/** An entry that cannot be used, with the reason as a sentence. */
export type InvalidServer = { name: string; problem: string }

const CALL_TIMEOUT_S = 120
const CONNECT_TIMEOUT_S = 60
const MAX_TIMEOUT_S = 3_600

const seconds = (fallback: number) =>
  z.coerce
    .number()
    .positive()
    .catch(fallback)
    .default(fallback)
    .transform(value => Math.min(value, MAX_TIMEOUT_S) * 1_000)

const words = z
  .union([z.string().transform(one => [one]), z.array(z.coerce.string())])
  .nullish()
  .transform(list => list ?? [])

const flag = (fallback: boolean) =>
  z
    .unknown()
    .optional()
    .transform(value => yamlFlag(value) ?? fallback)

/** YAML parses `8080` as a number and `true` as a boolean; environment variables and headers are strings. */
const strings = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).nullable())
  .nullish()
  .transform(map =>
    Object.fromEntries(Object.entries(map ?? {}).map(([key, value]) => [key, `${value ?? ''}`])),
  )

const Filter = z.preprocess(
  value => (Array.isArray(value) || typeof value === 'string' ? { include: value } : (value ?? {})),
  z.object({
    include: words,
    exclude: words,
    resources: flag(true),
    prompts: flag(true),
  }),
)

const Entry = z.object({
  command: z.string().trim().nullish(),
  args: z
    .array(z.union([z.string(), z.number(), z.boolean()]).transform(String), {
      error: 'args must be a list',
    })
    .nullish(),
  env: strings,
  cwd: z.string().trim().nullish(),
  url: z.string().trim().nullish(),
  headers: strings,
  transport: z.string().trim().toLowerCase().nullish(),
  enabled: flag(true),
  timeout: seconds(CALL_TIMEOUT_S),
  connect_timeout: seconds(CONNECT_TIMEOUT_S),
  tools: Filter,
})

const isWebAddress = (text: string): boolean =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

const hashOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)

const parseOne = (name: string, value: unknown): ServerConfig | InvalidServer => {
  const parsed = Entry.safeParse(value ?? {})
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return { name, problem: `${issue?.path.join('.') || 'The entry'}: ${issue?.message}` }
  }
  const entry = parsed.data
  const shared = {
    name,
    enabled: entry.enabled,
    timeoutMs: entry.timeout,
    connectTimeoutMs: entry.connect_timeout,
    filter: entry.tools,
  }
  if (entry.command) {
    const { command, env } = entry
    const way = { command, args: entry.args ?? [], env, cwd: entry.cwd || null }
    return { ...shared, ...way, kind: 'stdio', hash: hashOf([way, entry.connect_timeout]) }
  }
  if (!entry.url) return { name, problem: 'It has neither a command nor a url.' }
  if (!isWebAddress(entry.url)) return { name, problem: 'Its url is not an http address.' }
  const way = { url: entry.url, headers: entry.headers, sse: entry.transport === 'sse' }
  return { ...shared, ...way, kind: 'http', hash: hashOf([way, entry.connect_timeout]) }
}

export const isInvalid = (server: ServerConfig | InvalidServer): server is InvalidServer =>
  'problem' in server

/** In the order of the file. `values` is the configuration with variables expanded. */
export const parseServers = (
  values: Readonly<Record<string, unknown>>,
): (ServerConfig | InvalidServer)[] => {
  const { mcp_servers: listed } = values
  if (!isObject(listed)) return []
  return Object.entries(listed).map(([name, value]) => parseOne(name, value))
}

/** Whether the configuration allows the tool. */
export const isToolEnabled = ({ include, exclude }: ToolFilter, tool: string): boolean =>
  (include.length === 0 || include.includes(tool)) && !exclude.includes(tool)
