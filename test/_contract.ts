/** The route table as `contract.test.ts` walks it, and what that compares it with. */
import { z } from 'zod'
import type { AnyEndpoint } from '../lib/http/endpoint.ts'
import { patternRoutes, routes } from '../router.ts'

export type Route = {
  key: string
  method: string
  path: string
  /** The path as in the table, with its open segment. */
  pattern: string
  endpoint: AnyEndpoint
  /** Names of the fields of its input, also of each form that the input may have. */
  fields: string[]
  /** Its place in the table: other routes meet other values. */
  at: number
}

type Shape = { properties?: object; anyOf?: { properties?: object }[] }

const fieldNames = ({ input }: AnyEndpoint): string[] => {
  const schema = input && z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' })
  const { properties, anyOf = [] } = (schema ?? {}) as Shape
  const names = [properties, ...anyOf.map(each => each.properties)]
  return [...new Set(names.flatMap(each => Object.keys(each ?? {})))]
}

export const all = Object.entries<AnyEndpoint>({ ...routes, ...patternRoutes }).map(
  ([key, endpoint], at): Route => {
    const [method = '', pattern = ''] = key.split(' ')
    const path = pattern.replace(/\/:\w+$/, '/appearance').replace(/\/\*$/, '/none.js')
    return { key, method, path, pattern, endpoint, fields: fieldNames(endpoint), at }
  },
)
export const isPerson = ({ endpoint }: Route) => !endpoint.public && !endpoint.byToken

/** Everything else needs a cookie once a password is set. */
export const PUBLIC = [
  'GET /login',
  'GET /health',
  // Names a reason, and no path.
  'GET /ready',
  // Asks for a token of its own, and does not exist without one.
  'GET /metrics',
  'GET /favicon.ico',
  'GET /static/*',
  // Programs and names without data: a browser loads both without its cookie.
  'GET /manifest.webmanifest',
  'GET /sw.js',
  // Say what a proxy sent with this request, and whether it passes events on at once.
  'GET /api/proxy-check',
  'POST /api/proxy-check',
  // Admits by an unguessable token and shows one chat, read-only.
  'GET /share/:token',
  'POST /api/auth/login',
  // Signs a device in with a code that works once, for five minutes.
  'POST /api/auth/pair/use',
  // Answers one question with a token that is valid once.
  'POST /api/notifications/answer',
  // Accepts an invitation with a code that works once, for a day.
  'POST /api/people/accept',
  'POST /api/people/accept/passkey',
  'POST /api/people/accept/passkey/options',
  'POST /api/people/accept/provider',
  // Signing in with a passkey.
  'POST /api/auth/passkey/options',
  'POST /api/auth/passkey/login',
  // Signing in with an OpenID Connect provider: to it, and back.
  'GET /api/auth/oidc/start',
  'GET /api/auth/oidc/callback',
  'GET /api/auth/status',
  // Has no effect: the text that it is given goes back in the address of a page.
  'POST /share-target',
]

/** Where null says something that absence does not. */
export const NULL_SAYS = [
  'POST /api/budgets day tokens',
  'POST /api/budgets day usd',
  'POST /api/budgets session tokens',
  'POST /api/budgets session usd',
  'POST /api/budgets steps',
  'POST /api/budgets turn tokens',
  'POST /api/budgets turn usd',
  'POST /api/memory/write expected_mtime',
  'POST /api/notifications kinds',
  'POST /api/notifications/kinds kinds',
  'POST /api/own-files/save fields tools',
  'POST /api/personality/set name',
  'POST /api/projects/create color',
  'POST /api/projects/rename color',
  'POST /api/providers api_key',
  'POST /api/session/move project_id',
  'POST /api/session/toolsets toolsets',
  'POST /api/skills/save category',
  'POST /api/tokens/create expires_in_days',
]

/** Fields that name nothing of a profile, or something inside what the other fields name. */
export const HARMLESS = `
  any
  after agent_session_id all amend answer approval_id archived attachments before call checkpoint choice clarify_id
  client_message_id comments commit commits content create current cursor days deliver depth dest_dir download draft enabled
  expected_version file files focus_topic force format from hooks hunks id ids issuer job_id keep keep_count kind kinds limit line lines message
  message_id messages mode model muted n name new_name offset old_path only_here others page password paths permanent pinned point pos probe
  process_id prompt provider q question reason recursive refresh remote repeat replace replaces response rule schedule scheduled
  scope script since skills skip subject subscription text timezone title topic trash_id url voice
`

type Field = { name: string; schema: z.core.$ZodType }

const inner = (schema: z.core.$ZodType): z.core.$ZodType | undefined => {
  const { def } = schema._zod as { def: { innerType?: z.core.$ZodType; in?: z.core.$ZodType } }
  return def.innerType ?? def.in
}

const unwrap = (schema: z.core.$ZodType): z.core.$ZodType => {
  const next = inner(schema)
  return next ? unwrap(next) : schema
}

export const isNullable = (schema: z.core.$ZodType): boolean => {
  if (schema instanceof z.ZodNullable) return true
  const next = inner(schema)
  return next !== undefined && isNullable(next)
}

/** With those of objects inside objects, lists and unions. */
export const fieldsOf = (schema: z.core.$ZodType, at: string): Field[] => {
  const bare = unwrap(schema)
  if (bare instanceof z.ZodArray) return fieldsOf(bare.element, at)
  if (bare instanceof z.ZodUnion) return bare.options.flatMap(option => fieldsOf(option, at))
  if (!(bare instanceof z.ZodObject)) return []
  return Object.entries(bare.shape as Record<string, z.core.$ZodType>).flatMap(([key, field]) => [
    { name: `${at} ${key}`, schema: field },
    ...fieldsOf(field, `${at} ${key}`),
  ])
}
