/** Writes docs/configuration-keys.md from the schema of config.yaml: `npm run docs`. */
import { writeFileSync } from 'node:fs'
import { z } from 'zod'
import { ProfileConfigSchema } from '../lib/profiles/config.ts'
import type { FieldMeta } from '../lib/profiles/config-schema-helpers.ts'

const PATH = new URL('../docs/configuration-keys.md', import.meta.url)

type Row = { key: string; type: string; default: string; description: string }

const rowsOf = (schema: z.ZodType, key: string): Row[] => {
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([name, inner]) =>
      rowsOf(inner as z.ZodType, key === '' ? name : `${key}.${name}`),
    )
  const { type, description, default: fallback, keys = {}, isGuard } = schema.meta() as FieldMeta
  const parent = /mapping from|list of mappings/.test(type) ? `${key}.*` : key
  return [
    {
      key,
      type,
      default: fallback,
      description: isGuard ? `${description} See Settings → Security.` : description,
    },
    ...Object.entries(keys).map(([name, text]) => ({
      key: `${parent}.${name}`,
      type: '',
      default: '',
      description: text,
    })),
  ]
}

/** Keys of the shared home that other programs use, and why they have no effect here. */
const NOT_READ: readonly (readonly [keys: string, why: string])[] = [
  ['model_aliases', 'Pick models by their id.'],
  ['smart_model_routing.*', 'Every message goes to the model of the chat.'],
  [
    'agent.verbose, agent.gateway_timeout, agent.gateway_timeout_warning, agent.reasoning_overrides, agent.service_tier, agent.clarify_timeout',
    'Settings of the command line and its gateway.',
  ],
  [
    'display.* (except display.show_reasoning)',
    'Settings of the terminal. The page has its own, in `settings.json`.',
  ],
  [
    'terminal.lifetime_seconds, terminal.sudo_password',
    'There is no long-lived shell, and commands cannot ask for a password.',
  ],
  [
    'terminal.ssh_*, terminal.modal_mode, images of other backends',
    'Commands run on this machine or in a container on it; see `terminal.backend`.',
  ],
  [
    'browser.inactivity_timeout, browser.command_timeout, browser.record_sessions',
    'There is no browser tool.',
  ],
  [
    'lsp.wait_mode, lsp.install_strategy, lsp.package_manager',
    'Only language servers that are installed are used, and only edited files are checked.',
  ],
  ['file_read_max_chars', 'Files are read in pages.'],
  [
    'compression.in_place, compression.tail_mode, compression.abort_on_summary_failure',
    'Summaries are added to the transcript, which is never rewritten.',
  ],
  [
    'auxiliary.session_search, auxiliary.skills_hub, auxiliary.approval, auxiliary.flush_memories',
    'These tasks use no model here.',
  ],
  [
    'memory.provider, memory.nudge_interval, memory.flush_min_turns',
    'The model decides when it writes notes.',
  ],
  ['delegation.default_toolsets', 'Subagents get tools of their turn.'],
  ['skills.creation_nudge_interval, skills.config.*', 'Settings of the command line.'],
  ['platform_toolsets.<other platforms>', 'Only `cli` is read.'],
  [
    'mcp_servers.*.sampling.max_tool_rounds, mcp_servers.*.sampling.log_level',
    'The model that answers a server has no tools.',
  ],
  ['quick_commands', 'Commands of the terminal.'],
  ['security.tirith_timeout', 'tirith is not supported.'],
  ['privacy.redact_pii', 'Secrets are masked; names and addresses of people are not.'],
  ['cron.wrap_response', 'Results are stored as the model wrote them.'],
  ['logging.*', 'The service logs to its standard output.'],
  ['web.extract_backend', 'Pages are fetched by the service itself.'],
  ['session_reset.*', 'Sessions do not expire.'],
  [
    'tts, voice, human_delay, streaming, honcho, discord, whatsapp, worktree, group_sessions_per_user',
    'Other front ends.',
  ],
  ['_config_version', 'Belongs to the command line; never changed.'],
]

const cell = (text: string): string => text.replaceAll('|', '\\|')

/** The whole page. */
export const configKeysPage = (): string => {
  const rows = rowsOf(ProfileConfigSchema, '').map(row =>
    [`\`${row.key}\``, row.type, row.default === '' ? '' : `\`${row.default}\``, row.description]
      .map(cell)
      .join(' | '),
  )
  const notRead = NOT_READ.map(([keys, why]) => `| ${cell(keys)} | ${cell(why)} |`)
  return `# Keys of config.yaml

Generated from \`lib/profiles/config.ts\` by \`npm run docs\`; do not edit.

The file is shared with the agent’s command line. A value that is invalid is dropped: its default applies, everything beside it
keeps its value, and \`agent-webui doctor\` names it. \`true\`, \`yes\`, \`on\`, \`1\` mean the same, as do \`false\`, \`no\`, \`off\`, \`0\`, in quotes
or without. Numbers may be written in quotes and with underscores. \`\${NAME}\` in a text is replaced by the variable NAME of the home.

## Keys that are read

| key | value | default | meaning |
|---|---|---|---|
${rows.map(row => `| ${row} |`).join('\n')}

## Keys that are not read

These keys of the shared home have no effect here, and are left as they are.

| keys | why |
|---|---|
${notRead.join('\n')}
`
}

if (import.meta.main) writeFileSync(PATH, configKeysPage())
