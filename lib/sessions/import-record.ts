/** Parses the record of a session written by another program or by hand: known keys are validated, unknown ones kept. */
import type { Meta } from './entries.ts'
import { isObject } from '../base/json.ts'
import { toTime } from '../base/to-time.ts'
import { Draft } from '../schema/session.ts'
import { Usage } from '../schema/usage.ts'

type Read = (value: unknown) => unknown

const words: Read = value =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined
const path: Read = value => (typeof value === 'string' ? value : undefined)
const flag: Read = value =>
  typeof value === 'boolean' ? value : value === 1 || value === 'true' ? true : undefined
const amount: Read = value => {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : undefined
}
const texts: Read = value =>
  Array.isArray(value) && value.every(item => typeof item === 'string') ? value : undefined
const bag: Read = value => (isObject(value) ? value : undefined)

const draft: Read = value => {
  if (!isObject(value) || typeof value.text !== 'string') return undefined
  const { text, files, comments, client_message_id: id } = value
  const valid = Draft.shape.comments.safeParse(comments).data
  return {
    text,
    files: Array.isArray(files) ? files.filter(file => typeof file === 'string') : [],
    ...(valid && { comments: valid }),
    ...(typeof id === 'string' && { client_message_id: id }),
  }
}

const smallWindow: Read = value =>
  isObject(value) &&
  typeof value.provider === 'string' &&
  typeof value.model === 'string' &&
  amount(value.context_length) !== undefined &&
  (value.extent === 'short' || value.extent === 'few tools')
    ? value
    : undefined

const isQueued = (item: unknown): boolean =>
  isObject(item) &&
  typeof item.id === 'string' &&
  typeof item.text === 'string' &&
  texts(item.attachments) !== undefined

const KNOWN: Readonly<Record<string, Read>> = {
  title: words,
  workspace: path,
  model: words,
  profile: path,
  project_id: words,
  personality: path,
  pinned: flag,
  archived: flag,
  yolo: flag,
  mode: value => (value === 'plan' || value === 'normal' ? value : undefined),
  is_cli_session: flag,
  input_tokens: amount,
  output_tokens: amount,
  estimated_cost: amount,
  cache_read_tokens: amount,
  cache_write_tokens: amount,
  created_at: toTime,
  updated_at: toTime,
  composer_draft: draft,
  enabled_toolsets: texts,
  approved_patterns: texts,
  parent_session_id: path,
  source_tag: path,
  last_usage: value => (Usage.safeParse(value).success ? value : undefined),
  acp: bag,
  small_window: smallWindow,
  queued: value => (Array.isArray(value) && value.every(isQueued) ? value : undefined),
}

/** Drops invalid values. Null stays, because it clears a key in a patch. */
export const toMeta = (values: Readonly<Record<string, unknown>>): Meta => {
  let changed: Record<string, unknown> | null = null
  for (const key in values) {
    const parse = Object.hasOwn(KNOWN, key) ? KNOWN[key] : undefined
    const value = values[key]
    if (!parse || value === null || value === undefined) continue
    const clean = parse(value)
    if (clean === value) continue
    changed ??= { ...values }
    if (clean === undefined) delete changed[key]
    else changed[key] = clean
  }
  return (changed ?? values) as Meta
}
