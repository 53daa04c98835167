/** Edits `mcp_servers` in config.yaml field by field; comments and unknown fields of the file are kept. */
import { isDeepStrictEqual } from 'node:util'
import { type JsonObject, asObject, isObject } from '../base/json.ts'
import { conflict, invalid, missing } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { YamlEdit } from '../store/yaml-file.ts'
import { HIDDEN, maskArgs, maskUrl, maskValues } from './mask-config.ts'

/** The fields a client may set; an absent field is not changed. */
export type ServerChange = {
  command?: string | undefined
  args?: string[] | undefined
  env?: Record<string, string> | undefined
  url?: string | undefined
  headers?: Record<string, string> | undefined
  timeout?: number | undefined
  connect_timeout?: number | undefined
  enabled?: boolean | undefined
}

const SECTION = 'mcp_servers'

/** The entry as it is in the file; undefined when there is none. */
const findEntry = (home: Home, name: string): JsonObject | undefined => {
  const section = home.configFile.read()[SECTION]
  if (!isObject(section) || !Object.hasOwn(section, name)) return undefined
  const entry = section[name]
  return isObject(entry) ? entry : {}
}

const requireEntry = (home: Home, name: string): JsonObject => {
  const entry = findEntry(home, name)
  if (!entry)
    throw missing(`There is no MCP server "${name}".`, {
      code: 'mcp_server_not_found',
      values: { name },
    })
  return entry
}

/** Replaces masked values that come back unchanged with the stored ones. */
const unmaskMap = (next: Record<string, string>, old: unknown): Record<string, string> => {
  const oldValues = isObject(old) ? old : {}
  return Object.fromEntries(
    Object.entries(next).map(([key, value]) => {
      if (value !== HIDDEN) return [key, value]
      if (!Object.hasOwn(oldValues, key))
        throw invalid(`The value of ${key} is missing.`, { code: 'hidden_values' })
      return [key, String(oldValues[key] ?? '')]
    }),
  )
}

const unmaskArgs = (next: string[], old: unknown): string[] => {
  const oldArgs = Array.isArray(old) ? old.map(String) : []
  const masked = maskArgs(oldArgs)
  return next.map((arg, at) => {
    const same = masked[at] === arg ? at : masked.indexOf(arg)
    const oldArg = oldArgs[same]
    if (oldArg !== undefined) return oldArg
    if (arg.includes(HIDDEN))
      throw invalid('Enter the hidden argument again.', { code: 'hidden_values' })
    return arg
  })
}

const unmaskUrl = (next: string, old: unknown): string => {
  const oldUrl = typeof old === 'string' ? old : ''
  if (next === maskUrl(oldUrl)) return oldUrl
  if (next.includes(HIDDEN))
    throw invalid('Enter the hidden part of the address again.', { code: 'hidden_values' })
  return next
}

const originOf = (url: unknown): string => URL.parse(String(url ?? ''))?.origin ?? String(url ?? '')

/** Stored headers may hold keys, and the client has one: they must not be sent to another origin without being entered again. */
const requireWritten = ({ url, headers }: ServerChange, old: JsonObject): void => {
  if (url === undefined || originOf(url) === originOf(old.url)) return
  if (url !== '' && isObject(old.oauth) && old.oauth.client_secret)
    throw invalid('The address has changed: remove oauth.client_secret in config.yaml first.', {
      code: 'mcp_client_secret',
    })
  if (!isObject(old.headers)) return
  const oldHeaders = Object.entries(old.headers).map(([key, value]) => [key, String(value ?? '')])
  const nextHeaders = headers ?? maskValues(Object.fromEntries(oldHeaders))
  if (Object.values(nextHeaders).includes(HIDDEN))
    throw invalid('The address has changed: enter the hidden headers again.', {
      code: 'hidden_values',
    })
}

const mapEdits = (name: string, field: string, next: JsonObject, old: unknown): YamlEdit[] => {
  if (!isObject(old) || Object.keys(next).length === 0)
    return [[[SECTION, name, field], Object.keys(next).length > 0 ? next : undefined]]
  const gone = Object.keys(old).filter(key => !(key in next))
  return [
    ...gone.map((key): YamlEdit => [[SECTION, name, field, key], undefined]),
    ...Object.entries(next)
      .filter(([key, value]) => !isDeepStrictEqual(old[key], value))
      .map(([key, value]): YamlEdit => [[SECTION, name, field, key], value]),
  ]
}

const toEdits = (name: string, change: ServerChange, old: JsonObject): YamlEdit[] => {
  requireWritten(change, old)
  const { env, headers, args, url, ...plain } = change
  const values: JsonObject = {
    ...plain,
    ...(args && { args: args.length > 0 ? unmaskArgs(args, old.args) : undefined }),
    ...(url !== undefined && { url: unmaskUrl(url, old.url) }),
  }
  const edits = Object.entries(values)
    .filter(([field, value]) => !isDeepStrictEqual(old[field], value))
    .map(([field, value]): YamlEdit => [[SECTION, name, field], value === '' ? undefined : value])
  return [
    ...edits,
    ...(env ? mapEdits(name, 'env', unmaskMap(env, old.env), old.env) : []),
    ...(headers ? mapEdits(name, 'headers', unmaskMap(headers, old.headers), old.headers) : []),
  ]
}

/** With `create`, a name that exists is a conflict. */
export const saveServer = (
  home: Home,
  name: string,
  change: ServerChange,
  { create = false } = {},
): void => {
  const old = findEntry(home, name)
  if (old && create)
    throw conflict(`An MCP server "${name}" already exists.`, {
      code: 'mcp_server_exists',
      values: { name },
    })
  const command = change.command ?? old?.command
  const url = change.url ?? old?.url
  if (!command && !url)
    throw invalid('A server needs a command or an address.', { code: 'mcp_needs_command' })
  if (command && url)
    throw invalid('A server has either a command or an address, not both.', {
      code: 'mcp_two_kinds',
    })
  if (old) {
    home.configFile.editAll(toEdits(name, change, old))
    return
  }
  const filled = Object.entries(change).filter(
    ([, value]) =>
      value !== undefined &&
      value !== '' &&
      !(typeof value === 'object' && Object.keys(value).length === 0),
  )
  if (JSON.stringify(filled).includes(HIDDEN))
    throw invalid('Enter the hidden values again.', { code: 'hidden_values' })
  home.configFile.edit([SECTION, name], Object.fromEntries(filled))
}

export const removeServer = (home: Home, name: string): void => {
  requireEntry(home, name)
  home.configFile.edit([SECTION, name], undefined)
}

export const enableServer = (home: Home, name: string, enabled: boolean): void => {
  requireEntry(home, name)
  home.configFile.edit([SECTION, name, 'enabled'], enabled)
}

/** Edits the `include` list when there is one, else the `exclude` list. */
export const enableTool = (home: Home, name: string, tool: string, enabled: boolean): void => {
  const { tools } = requireEntry(home, name)
  const filter: JsonObject = Array.isArray(tools) ? { include: tools } : asObject(tools)
  const others = (list: unknown): string[] =>
    Array.isArray(list) ? list.map(String).filter(each => each !== tool) : []
  const isListed = Array.isArray(filter.include) && filter.include.length > 0
  const include = isListed && [...others(filter.include), ...(enabled ? [tool] : [])]
  if (include && include.length === 0)
    throw invalid('A server needs at least one tool. Turn off the server instead.', {
      code: 'mcp_needs_tool',
    })
  const exclude = [...others(filter.exclude), ...(isListed || enabled ? [] : [tool])]
  const { exclude: _before, ...rest } = filter
  const next = { ...rest, ...(include && { include }), ...(exclude.length > 0 && { exclude }) }
  home.configFile.edit([SECTION, name, 'tools'], Object.keys(next).length > 0 ? next : undefined)
}
