/** Parses `mcp_servers` of config.yaml. Entries are checked one by one: a mistake disables one server, not all. */
import { sentence, type Words } from '../base/sentences.ts'
import { sha256 } from '../base/sha256.ts'
import { z } from 'zod'
import { fromSeconds, toSeconds } from '../base/clock.ts'
import { isObject } from '../base/json.ts'
import { yamlFlag } from '../store/yaml-file.ts'

type CommonSettings = {
  name: string
  enabled: boolean
  timeoutMs: number
  connectTimeoutMs: number
  filter: ToolFilter
  sampling: SamplingSettings
  /** Whether the server is given the workspaces of the turns that use it. */
  hasRoots: boolean
  /** Identifies everything the connection depends on: the server is restarted when it changes. */
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
  oauth: OAuthSettings
}

/** How to sign in to a server that requires it. All of it is optional: most servers register clients themselves. */
export type OAuthSettings = {
  /** `auth: oauth`: the server is known to offer a sign-in. */
  isExpected: boolean
  clientId: string | null
  clientSecret: string | null
  clientName: string
  scope: string | null
  /** Registered with `clientId`, instead of our own callback. The person pastes the address they are sent to. */
  redirectUri: string | null
}
export type ServerConfig = StdioServer | HttpServer

/** An entry that cannot be used, with the reason as a sentence. */
export type InvalidServer = { name: string; problem: Words }

const CALL_TIMEOUT_MS = 120_000
const CONNECT_TIMEOUT_MS = 60_000
/** The host agent’s own default. */
const SAMPLING_TIMEOUT_MS = 30_000
const MAX_TIMEOUT_MS = 3_600_000

/** Written in seconds, read in milliseconds. */
const seconds = (fallbackMs: number) =>
  z.coerce
    .number()
    .positive()
    .catch(toSeconds(fallbackMs))
    .default(toSeconds(fallbackMs))
    .transform(value => Math.min(fromSeconds(value), MAX_TIMEOUT_MS))

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

/** The tools of a server that models get. An empty `include` means all. */
const Filter = z.preprocess(
  value => (Array.isArray(value) || typeof value === 'string' ? { include: value } : (value ?? {})),
  z.object({
    include: words,
    exclude: words,
    resources: flag(true),
    prompts: flag(true),
  }),
)
export type ToolFilter = z.output<typeof Filter>

/** What a server may ask of a model (MCP sampling). */
const Sampling = z.preprocess(
  value =>
    isObject(value) ? value : value === undefined || value === null ? {} : { enabled: value },
  z.object({
    enabled: flag(true),
    /** Null: `auxiliary.mcp`, else the model of the chat. */
    model: z
      .string()
      .trim()
      .nullish()
      .catch(null)
      .transform(name => name || null),
    /** Empty: any. */
    allowed_models: words.catch([]),
    /** Upper limit of tokens in an answer. */
    max_tokens_cap: z.coerce.number().int().positive().catch(4_096).default(4_096),
    /** Requests a minute. */
    max_rpm: z.coerce.number().int().positive().catch(10).default(10),
    /** In milliseconds. */
    timeout: seconds(SAMPLING_TIMEOUT_MS),
  }),
)
export type SamplingSettings = z.output<typeof Sampling>

const OAuth = z
  .object({
    client_id: z.coerce.string().nullish(),
    client_secret: z.coerce.string().nullish(),
    client_name: z.string().trim().nullish(),
    scope: words.transform(list => list.join(' ')),
    redirect_uri: z.string().trim().nullish(),
    redirect_port: z.coerce.number().int().min(1).max(65_535).nullish(),
    redirect_host: z.enum(['127.0.0.1', 'localhost']).catch('127.0.0.1').default('127.0.0.1'),
  })
  .nullish()

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
  auth: z.unknown().optional(),
  oauth: OAuth,
  enabled: flag(true),
  timeout: seconds(CALL_TIMEOUT_MS),
  connect_timeout: seconds(CONNECT_TIMEOUT_MS),
  tools: Filter,
  sampling: Sampling,
  roots: flag(false),
})

const isWebAddress = (text: string): boolean =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

const oauthOf = ({ auth, oauth }: z.output<typeof Entry>): OAuthSettings => ({
  isExpected: typeof auth === 'string' && auth.trim().toLowerCase() === 'oauth',
  clientId: oauth?.client_id || null,
  clientSecret: oauth?.client_secret || null,
  clientName: oauth?.client_name || 'agent-webui',
  scope: oauth?.scope || null,
  redirectUri:
    oauth?.redirect_uri ||
    (oauth?.redirect_port ? `http://${oauth.redirect_host}:${oauth.redirect_port}/callback` : null),
})

const hashOf = (value: unknown): string => sha256(JSON.stringify(value)).slice(0, 16)

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
    sampling: entry.sampling,
    hasRoots: entry.roots,
  }
  // Both are announced when the connection is made.
  const announced = [entry.sampling.enabled, entry.roots]
  if (entry.command) {
    const { command, env } = entry
    const way = { command, args: entry.args ?? [], env, cwd: entry.cwd || null }
    return {
      ...shared,
      ...way,
      kind: 'stdio',
      hash: hashOf([way, entry.connect_timeout, announced]),
    }
  }
  if (!entry.url) return { name, problem: sentence('mcp.no_command') }
  if (!isWebAddress(entry.url)) return { name, problem: sentence('mcp.no_address') }
  const way = {
    url: entry.url,
    headers: entry.headers,
    sse: entry.transport === 'sse',
    oauth: oauthOf(entry),
  }
  return { ...shared, ...way, kind: 'http', hash: hashOf([way, entry.connect_timeout, announced]) }
}

export const isInvalid = (server: ServerConfig | InvalidServer): server is InvalidServer =>
  'problem' in server

/** In the order of the file. `values` is the configuration with variables expanded. */
export const parseServers = (
  values: Readonly<Record<string, unknown>>,
): (ServerConfig | InvalidServer)[] => {
  const { mcp_servers: section } = values
  if (!isObject(section)) return []
  return Object.entries(section).map(([name, value]) => parseOne(name, value))
}

/** Whether the configuration allows the tool. */
export const isToolEnabled = ({ include, exclude }: ToolFilter, tool: string): boolean =>
  (include.length === 0 || include.includes(tool)) && !exclude.includes(tool)
