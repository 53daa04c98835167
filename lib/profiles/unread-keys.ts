/** Finds keys of config.yaml that have no effect here: the file is the host agent's as well, and nobody should rely on what is not done. */
import { z } from 'zod'
import { asObject, isObject, type JsonObject } from '../base/json.ts'
import { ProfileConfigSchema } from './config.ts'
import type { FieldMeta } from './config-schema-helpers.ts'

/** Keys of the shared home that other programs use, and why they have no effect here. `*`: every key below. */
export const NOT_READ: readonly (readonly [keys: readonly string[], why: string])[] = [
  [['model_aliases'], 'Pick models by their id.'],
  [['smart_model_routing'], 'Every message goes to the model of the chat.'],
  [
    [
      'agent.verbose',
      'agent.gateway_timeout',
      'agent.gateway_timeout_warning',
      'agent.reasoning_overrides',
      'agent.service_tier',
    ],
    'Settings of the command line and its gateway.',
  ],
  [['display.*'], 'Settings of the terminal. The page has its own, in `settings.json`.'],
  [['terminal.sudo_password'], 'Commands cannot ask for a password.'],
  [
    [
      'terminal.ssh_host',
      'terminal.ssh_user',
      'terminal.ssh_port',
      'terminal.ssh_key',
      'terminal.modal_mode',
      'terminal.modal_image',
      'terminal.daytona_image',
      'terminal.singularity_image',
    ],
    'Commands run on this machine or in a container on it; see `terminal.backend`.',
  ],
  [
    ['browser.inactivity_timeout', 'browser.command_timeout', 'browser.record_sessions'],
    'There is no browser tool.',
  ],
  [
    ['lsp.wait_mode', 'lsp.install_strategy', 'lsp.package_manager'],
    'Only language servers that are installed are used, and only edited files are checked.',
  ],
  [['file_read_max_chars'], 'Files are read in pages.'],
  [
    ['compression.in_place', 'compression.tail_mode', 'compression.abort_on_summary_failure'],
    'Summaries are added to the transcript, which is never rewritten.',
  ],
  [
    [
      'auxiliary.session_search',
      'auxiliary.skills_hub',
      'auxiliary.approval',
      'auxiliary.flush_memories',
    ],
    'These tasks use no model here.',
  ],
  [
    ['memory.provider', 'memory.nudge_interval', 'memory.flush_min_turns'],
    'The model decides when it writes notes.',
  ],
  [['delegation.default_toolsets'], 'Subagents get tools of their turn.'],
  [['skills.creation_nudge_interval', 'skills.config'], 'Settings of the command line.'],
  [['platform_toolsets.*'], 'Only `cli` is read.'],
  [
    ['mcp_servers.*.sampling.max_tool_rounds', 'mcp_servers.*.sampling.log_level'],
    'The model that answers a server has no tools.',
  ],
  [['quick_commands'], 'Commands of the terminal.'],
  [['security.tirith_timeout'], 'tirith is not supported.'],
  [['privacy'], 'Secrets are masked; names and addresses of people are not.'],
  [['cron.wrap_response'], 'Results are stored as the model wrote them.'],
  [['logging'], 'The service logs to its standard output.'],
  [['web.extract_backend'], 'Pages are fetched by the service itself.'],
  [['session_reset'], 'Sessions do not expire.'],
  [
    [
      'voice',
      'human_delay',
      'streaming',
      'honcho',
      'discord',
      'telegram',
      'slack',
      'whatsapp',
      'signal',
      'gateway',
      'worktree',
      'group_sessions_per_user',
    ],
    'Other front ends.',
  ],
  [['_config_version'], 'Belongs to the command line; never changed.'],
]

/** Names that a documented key accepts besides its own. */
const aliasesIn = (keys: Readonly<Record<string, string>>): string[] =>
  Object.values(keys).flatMap(text =>
    [...text.matchAll(/`(\w+)` (?:is|are) read as well/g)].map(match => match[1]!),
  )

/** Of sections that their own modules parse: the documented keys are all that is read. */
const inRaw = ({ keys, type }: FieldMeta, value: unknown, path: string): string[] => {
  if (!keys || Object.keys(keys).some(name => name.startsWith('<'))) return []
  const knownKeys = new Set([...Object.keys(keys), ...aliasesIn(keys)])
  const entries = /mapping from/.test(type)
    ? Object.entries(asObject(value)).map(([name, entry]) => [`${path}.${name}`, entry] as const)
    : Array.isArray(value)
      ? value.map((entry, at) => [`${path}[${at}]`, entry] as const)
      : [[path, value] as const]
  return entries.flatMap(([at, entry]) =>
    isObject(entry)
      ? Object.keys(entry).flatMap(key => (knownKeys.has(key) ? [] : [`${at}.${key}`]))
      : [],
  )
}

const walk = (schema: z.ZodType, value: unknown, path: string): string[] => {
  if (!(schema instanceof z.ZodObject)) {
    const meta = schema.meta() as FieldMeta | undefined
    return meta ? inRaw(meta, value, path) : []
  }
  return Object.entries(asObject(value)).flatMap(([key, inner]) => {
    const at = path === '' ? key : `${path}.${key}`
    if (!Object.hasOwn(schema.shape, key)) return inner === null ? [] : [at]
    return walk(schema.shape[key] as z.ZodType, inner, at)
  })
}

/** A pattern names a key and everything below it. */
const covers = (pattern: string, key: string): boolean => {
  const parts = pattern.replace(/\.\*$/, '').split('.')
  const keyParts = key.split('.')
  return parts.every(
    (part, at) => keyParts[at] !== undefined && (part === '*' || part === keyParts[at]),
  )
}

const whyOf = (key: string): string | null =>
  NOT_READ.find(([keys]) => keys.some(pattern => covers(pattern, key)))?.[1] ?? null

export type UnreadKey = { key: string; why: string | null }

/** In the order of the file. `why`: null for a key that no documentation here knows: a typo, or one of a newer host agent. */
export const unreadKeys = (config: Readonly<JsonObject>): UnreadKey[] =>
  walk(ProfileConfigSchema, config, '').map(key => ({ key, why: whyOf(key) }))
