/** Exports sessions as JSON, Markdown and HTML, redacted, and parses imports. */
import { codeBlock } from '../base/code-block.ts'
import { isObject } from '../base/json.ts'
import { invalid } from '../errors.ts'
import { escapeHtml } from '../http/html-template.ts'
import { redact, redactValue } from '../base/redact/redact.ts'
import type { Decision } from '../schema/decision.ts'
import { decisionSentence } from '../schema/decision-words.ts'
import type { Message, NewMessage } from '../schema/message.ts'
import { contentText, type Meta } from './entries.ts'
import type { Folded } from './fold.ts'
import { toMessages } from './import-messages.ts'
import { toMeta } from './import-record.ts'
import { NO_LIVE_STATE, toRow, UNTITLED } from './list-row.ts'
import { decisionHtml } from './shares/markdown-html.ts'
import { callsOnlyRecorded, toolSummaries, toTranscript } from './tool-call-summaries.ts'

type Masking = { text: (text: string) => string; value: <T>(value: T) => T }

const UNMASKED: Masking = { text: text => text, value: value => value }

/** The full record with every key, as compatible programs read it, and its list row. */
export const toRecord = (folded: Folded, { text, value } = UNMASKED) => {
  const { meta, messages } = folded
  const row = toRow(folded, NO_LIVE_STATE, text)
  const record = {
    ...value(meta),
    ...row,
    messages: value(messages.map(({ _tool_summaries: _, ...message }) => message)),
    tool_calls: value(toolSummaries(messages)),
    pending_user_message: null,
    pending_attachments: [],
    pending_started_at: null,
  }
  return { record, row }
}

/** Redacts values before formatting: filtering JSON text could break it. */
export const toJson = (folded: Folded): string =>
  `${JSON.stringify(toRecord(folded, { text: redact, value: redactValue }).record, null, 2)}\n`

const SPEAKERS = { user: 'You', assistant: 'Assistant', tool: 'Tool', system: 'System' } as const

const timeOf = (message: Message): string => {
  const seconds = message.timestamp ?? message._ts
  if (seconds === undefined || !Number.isFinite(seconds)) return ''
  const time = new Date(seconds * 1000)
  return Number.isNaN(time.getTime()) ? '' : time.toISOString().slice(0, 16).replace('T', ' ')
}

/** As code in a line, or as a block when it has several lines. */
const codeOf = (text: string): string => {
  if (text.includes('\n')) return `\n\n${codeBlock(text)}\n\n`
  const ticks = '`'.repeat(1 + Math.max(0, ...(text.match(/`+/g) ?? []).map(run => run.length)))
  return ticks.length > 1 ? `${ticks} ${text} ${ticks}` : `\`${text}\``
}

const decisionMarkdown = (decision: Decision): string => {
  const { lead, what, isCode, end } = decisionSentence(decision)
  return [`**${lead}**`, isCode ? codeOf(what) : what, end].filter(Boolean).join(' ').trim()
}

const markdownOf = (message: Message): string => {
  const parts = [`## ${SPEAKERS[message.role]}${timeOf(message) && ` · ${timeOf(message)}`}`]
  const text = contentText(message.content)
  if (text) parts.push(message.role === 'tool' ? codeBlock(text) : text)
  for (const call of message.tool_calls ?? []) {
    parts.push(`Tool call: ${call.function.name}`, codeBlock(call.function.arguments, 'json'))
  }
  for (const { name, args, snippet } of callsOnlyRecorded(message)) {
    parts.push(`Tool call: ${name}`, codeBlock(JSON.stringify(args), 'json'))
    if (snippet) parts.push(codeBlock(snippet))
  }
  if (message.attachments?.length) parts.push(`Attached: ${message.attachments.join(', ')}`)
  parts.push(...(message._decisions ?? []).map(decisionMarkdown))
  return parts.join('\n\n')
}

const chatTitle = (folded: Folded): string => folded.meta.title?.replace(/\s+/g, ' ') || UNTITLED

/** Model responses stay Markdown; tool output is fenced. */
export const toMarkdown = (folded: Folded, mask = redact): string => {
  const { meta, messages } = folded
  const about = [meta.model, meta.workspace].filter(Boolean).join(' · ')
  const parts = [`# ${chatTitle(folded)}`, ...(about ? [about] : []), ...messages.map(markdownOf)]
  return `${mask(parts.join('\n\n'))}\n`
}

const STYLE = `:root{color-scheme:light dark}body{font:16px/1.55 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}
article{margin:1.5rem 0;padding-left:.9rem;border-left:3px solid #8886}article.user{border-color:#36c}article.error{border-color:#c33}
h2{font-size:.85rem;margin:0 0 .4rem;opacity:.75}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.4rem 0;font:inherit}
details pre{font:13px/1.45 ui-monospace,monospace}summary{cursor:pointer}p{opacity:.75}p.decision{opacity:1;overflow-wrap:anywhere}`

const detailsHtml = (title: string, text: string): string =>
  `<details><summary>${escapeHtml(title)}</summary><pre>${escapeHtml(text)}</pre></details>`

const htmlOf = (message: Message): string => {
  const text = contentText(message.content)
  const calls = (message.tool_calls ?? []).map(({ function: { name, arguments: args } }) =>
    detailsHtml(name, args),
  )
  const recorded = callsOnlyRecorded(message).map(({ name, args, snippet }) =>
    detailsHtml(name, [JSON.stringify(args), snippet].join('\n')),
  )
  const body =
    message.role === 'tool' ? detailsHtml('Result', text) : text && `<pre>${escapeHtml(text)}</pre>`
  const files = message.attachments?.length
    ? `<p>Attached: ${escapeHtml(message.attachments.join(', '))}</p>`
    : ''
  const decisions = (message._decisions ?? []).map(each => decisionHtml(decisionSentence(each)))
  const kind = message._error ? `${message.role} error` : message.role
  const when = timeOf(message)
  return `<article class="${kind}"><h2>${SPEAKERS[message.role]}${when && ` · <time>${when}</time>`}</h2>${body}${[...calls, ...recorded].join('')}${files}${decisions.join('')}</article>`
}

/** One document without scripts or network requests; all session content is escaped text. */
export const toHtml = (fold: Folded): string => {
  const folded = redactValue(fold)
  const title = escapeHtml(chatTitle(folded))
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${title}</title><style>${STYLE}</style></head>
<body><h1>${title}</h1>
${folded.messages.map(htmlOf).join('\n')}
</body></html>
`
}

export type Imported = { meta: Meta; messages: NewMessage[] }

/** Keys that are not imported: of another installation, or of a past state. */
const NOT_IMPORTED = new Set([
  'session_id',
  'messages',
  'tool_calls',
  'message_count',
  'created_at',
  'updated_at',
  'is_streaming',
  'active_stream_id',
  'waiting',
  'last_turn',
  'last_turn_limit',
  'last_turn_missed',
  'preview',
  'seq',
  'pending_user_message',
  'pending_attachments',
  'pending_started_at',
  'questions',
  'live',
  'cursor',
  '_messages_truncated',
  '_messages_offset',
  'profile',
  'project_id',
  // A file must not decide what runs without approval, what is sent automatically, or what may be spent.
  'yolo',
  'approved_patterns',
  'turn_role',
  'queued',
  'sent_messages',
  'undone',
  'background',
  'background_of',
  'budget_granted',
  'budget_lifted',
  'acp',
  'is_cli_session',
  '_cli_origin',
  '_cli',
  'compression_anchor_visible_idx',
  'compression_anchor_message_key',
  'imported',
  'imported_lines',
])

/** Messages get new ids and keep everything else. Throws a UserError when the value is not an export. */
export const fromExport = (value: unknown): Imported => {
  if (!isObject(value)) {
    throw invalid('Request body must be a JSON object', { code: 'import_invalid' })
  }
  if (!('messages' in value) || !Array.isArray(value.messages)) {
    throw invalid('JSON must contain a "messages" array', { code: 'import_invalid' })
  }
  const unknown = value.messages.findIndex(message => toMessages(message).length === 0)
  if (unknown >= 0)
    throw invalid(`Message ${unknown + 1} has an unknown role`, { code: 'import_invalid' })
  const messages = toTranscript(value.messages, 'tool_calls' in value ? value.tool_calls : null)
  const meta = toMeta(
    Object.fromEntries(
      Object.entries(value).filter(([key, inner]) => !NOT_IMPORTED.has(key) && inner !== null),
    ),
  )
  const title = meta.title?.trim()
  return { meta: { ...meta, title: title || 'Imported session' }, messages }
}
