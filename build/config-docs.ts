/** Writes docs/configuration-keys.md from the schema of config.yaml: `npm run docs`. */
import { writeFileSync } from 'node:fs'
import { z } from 'zod'
import { ProfileConfigSchema } from '../lib/profiles/config.ts'
import { NOT_READ } from '../lib/profiles/unread-keys.ts'
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
      description: isGuard ? `${description} See Settings → Permissions.` : description,
    },
    ...Object.entries(keys).map(([name, text]) => ({
      key: `${parent}.${name}`,
      type: '',
      default: '',
      description: text,
    })),
  ]
}

const cell = (text: string): string => text.replaceAll('|', '\\|')

/** The whole page. */
export const configKeysPage = (): string => {
  const rows = rowsOf(ProfileConfigSchema, '').map(row =>
    [`\`${row.key}\``, row.type, row.default === '' ? '' : `\`${row.default}\``, row.description]
      .map(cell)
      .join(' | '),
  )
  const notRead = NOT_READ.map(
    ([keys, why]) => `| ${keys.map(key => `\`${cell(key)}\``).join(', ')} | ${cell(why)} |`,
  )
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

These keys of the shared home have no effect here, and are left as they are. \`agent-webui doctor\` names those of your file, and every key that
is in neither table.

| keys | why |
|---|---|
${notRead.join('\n')}
`
}

if (import.meta.main) writeFileSync(PATH, configKeysPage())
