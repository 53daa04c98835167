/** The YAML front matter of SKILL.md and other Markdown files, which other programs may also write: reads it tolerantly, and changes keys of it. */
import { sentence, type Words } from '../../base/sentences.ts'
import { messageOf, wordsOf, invalid } from '../../errors.ts'
import { isObject } from '../../base/json.ts'
import { parseYaml } from '../../store/yaml-values.ts'
import { editYaml } from '../../store/yaml-file.ts'

export type FrontMatter = {
  /** Empty when there is none or it cannot be parsed. */
  values: Readonly<Record<string, unknown>>
  /** The text after it. */
  body: string
  /** Why it is invalid; null when it is valid. */
  problem: Words | null
  /** It begins with front matter, valid or not. */
  hasHead: boolean
}

export const MAX_NAME_CHARS = 64
export const MAX_DESCRIPTION_CHARS = 1_024

/** Fallback for invalid YAML: `key: value` lines. */
const parseLines = (text: string): Record<string, unknown> =>
  Object.fromEntries(
    text.split('\n').flatMap(line => {
      const match = /^([A-Za-z_][\w-]*):\s*(.*?)\s*$/.exec(line)
      return match?.[1] && match[2] ? [[match[1], match[2].replace(/^(["'])(.*)\1$/, '$2')]] : []
    }),
  )

/** The YAML text between the two lines `---`, null when there is none, and the text after it; LF line endings, no byte order mark. */
const splitFrontMatter = (source: string): { head: string | null; body: string } => {
  const text = source.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  const match = /^---[ \t]*\n([\s\S]*?)(?:\n|^)---[ \t]*(?:\n|$)/.exec(text)
  return match
    ? { head: match[1] ?? '', body: text.slice(match[0].length) }
    : { head: null, body: text }
}

export const parseFrontMatter = (source: string): FrontMatter => {
  const { head, body } = splitFrontMatter(source)
  if (head === null)
    return { values: {}, body, problem: sentence('front_matter.none'), hasHead: false }
  try {
    return { values: parseYaml(head).value, body, problem: null, hasHead: true }
  } catch (error) {
    if (messageOf(error).includes('not a mapping'))
      return {
        values: {},
        body,
        problem: sentence('front_matter.no_mapping'),
        hasHead: true,
      }
    // Editing reports the problem; reading uses the lines that can be parsed.
    return {
      values: parseLines(head),
      body,
      problem: sentence('front_matter.unreadable', { reason: wordsOf(error) }),
      hasHead: true,
    }
  }
}

export const scalarText = (value: unknown): string =>
  typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : ''

/** A list, or a string with commas, with or without brackets. */
export const listOfTexts = (value: unknown): string[] => {
  const items = Array.isArray(value)
    ? value
    : scalarText(value)
        .replace(/^\[|\]$/g, '')
        .split(',')
  return items.map(item => scalarText(item).replace(/^(["'])(.*)\1$/, '$2')).filter(Boolean)
}

/** The host agent's section of `metadata`. */
export const agentMetadata = (
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> => {
  const { metadata } = values
  if (!isObject(metadata)) return {}
  return [metadata.agent, metadata.hermes].find(isObject) ?? {}
}

const cut = (text: string, most: number): string => {
  const characters = [...text]
  return characters.length > most ? `${characters.slice(0, most - 3).join('')}...` : text
}

/** The `description` field, else the first line of text. */
export const descriptionOf = ({ values, body }: FrontMatter): string => {
  const first = () =>
    body
      .split('\n')
      .map(line => line.trim())
      .find(line => line !== '' && !line.startsWith('#')) ?? ''
  return cut(
    (scalarText(values.description) || first()).replace(/\s+/g, ' '),
    MAX_DESCRIPTION_CHARS,
  )
}

type FrontMatterEdit = {
  /** Undefined removes a key. */
  values: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Absent: the text stays. */
  body?: string | undefined
}

/**
 * The new text, with LF line endings and without byte order mark. All other keys, comments, and lines stay. Throws a
 * UserError when the front matter cannot be read: the other keys would be lost.
 */
export const editFrontMatter = (source: string, { values, body }: FrontMatterEdit): string => {
  const { head, body: oldBody } = splitFrontMatter(source)
  const { problem } = parseFrontMatter(source)
  if (head !== null && problem !== null)
    throw invalid(`The file was not changed. ${problem}`, {
      code: 'front_matter_invalid',
      values: { problem },
    })
  let yaml = head === null || head === '' ? '' : `${head}\n`
  for (const [key, value] of Object.entries(values)) yaml = editYaml(yaml, [[key], value])
  const text = body ?? oldBody
  if (yaml.trim() === '') return text
  // A blank line after new front matter only: an existing file keeps its own.
  const gap = head === null && !text.startsWith('\n') ? '\n' : ''
  return `---\n${yaml.endsWith('\n') ? yaml : `${yaml}\n`}---\n${gap}${text}`
}
