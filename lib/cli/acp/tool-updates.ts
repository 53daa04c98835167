/** Describes tool calls of the engine in the terms of the Agent Client Protocol: kind, title, files, and differences. */
import { resolve } from 'node:path'
import type { ToolCallContent, ToolCallLocation, ToolKind } from '@agentclientprotocol/sdk'
import { guardRead, resolvePath } from '../../agent/tools/allowed-paths.ts'
import { parsePatch } from '../../agent/tools/patch-text.ts'
import { textAt } from '../../agent/tools/text-file.ts'
import type { PathScope } from '../../agent/types.ts'
import { codeBlock } from '../../base/code-block.ts'
import { asObject, asString, type JsonObject } from '../../base/json.ts'
import { shortenMiddle } from '../../base/shorten.ts'
import { toolInfo } from '../../base/tools.ts'
import { visibleName } from '../../base/visible.ts'
import { redact } from '../../base/redact/redact.ts'

export const kindOf = (name: string): ToolKind => toolInfo(name)?.kind ?? 'other'

/** Editors show the title of a command as the command. */
export const callTitle = (name: string, preview: string | null): string => {
  const subject = visibleName(redact(preview ?? ''))
  if (name === 'terminal' && subject !== '') return subject
  return `${toolInfo(name)?.title ?? name} ${subject}`.trim()
}

/** One file of an edit; null text: the file does not exist. */
type FileText = { path: string; oldText: string | null; newText: string }

/** Longer texts would make the client slow; the result names the changed files anyway. */
const MAX_DIFF_CHARS = 1_000_000

const lines = (parts: readonly string[]): string => parts.join('\n')

/** The text on the disk, if the tools may read it. */
const readText = (place: PathScope, path: string): string | null => {
  try {
    const fullPath = resolvePath(place, path)
    guardRead(place, fullPath)
    return textAt(fullPath)
  } catch {
    // Denied or unreadable: the tool itself reports why.
    return null
  }
}

type ReadText = (path: string) => string | null

/** What the call would change, by its arguments: a part of each file, or all of it. */
const plannedEdits = (name: string, args: JsonObject, read: ReadText): FileText[] => {
  const path = asString(args.path)
  if (name === 'write_file' && path !== '')
    return [{ path, oldText: read(path) || null, newText: asString(args.content) }]
  if (name !== 'patch') return []
  if (path !== '' && typeof args.old_string === 'string')
    return [{ path, oldText: args.old_string, newText: asString(args.new_string) }]
  try {
    return parsePatch(asString(args.patch)).map((operation): FileText => {
      const { kind, path: changed } = operation
      if (kind === 'add') return { path: changed, oldText: null, newText: operation.text }
      if (kind === 'delete') return { path: changed, oldText: read(changed), newText: '' }
      const { hunks, moveTo } = operation
      return {
        path: moveTo ?? changed,
        oldText: lines(hunks.map(({ old }) => lines(old))),
        newText: lines(hunks.map(({ fresh }) => lines(fresh))),
      }
    })
  } catch {
    // Not a valid patch: the tool reports why.
    return []
  }
}

const toDiff = (place: PathScope, { path, oldText, newText }: FileText): ToolCallContent[] =>
  (oldText?.length ?? 0) + newText.length > MAX_DIFF_CHARS
    ? []
    : [
        {
          type: 'diff',
          path: absolute(place, path),
          oldText: oldText === null ? null : redact(oldText),
          newText: redact(newText),
        },
      ]

const absolute = (place: PathScope, path: string): string => {
  const home = place.env.HOME ?? ''
  return resolve(place.workspace, path.replace(/^~(?=\/|$)/, home))
}

export type Edit = {
  /** Before the edit is approved. */
  planned: ToolCallContent[]
  /** Once it is done: the whole files. */
  done: () => ToolCallContent[]
}

/** Call it before the tool runs. */
export const editOf = (name: string, args: JsonObject, place: PathScope): Edit => {
  const edits = plannedEdits(name, args, path => readText(place, path))
  const planned = edits.flatMap(edit => toDiff(place, edit))
  const before = edits.map(({ path }) => ({ path, oldText: readText(place, path) || null }))
  return {
    planned,
    done() {
      const whole = before.flatMap(({ path, oldText }) => {
        const newText = readText(place, path) ?? ''
        return newText === (oldText ?? '') ? [] : toDiff(place, { path, oldText, newText })
      })
      return whole.length > 0 ? whole : planned
    },
  }
}

/** The edit of a finished call: the files have changed since. */
export const pastEdit = (name: string, args: JsonObject, place: PathScope): ToolCallContent[] =>
  plannedEdits(name, args, () => null).flatMap(edit => toDiff(place, edit))

export const locationsOf = (
  name: string,
  args: JsonObject,
  place: PathScope,
): ToolCallLocation[] => {
  const path = asString(args.path)
  if (path !== '') {
    const line = name === 'read_file' && typeof args.offset === 'number' ? args.offset : null
    return [{ path: absolute(place, path), ...(line !== null && { line }) }]
  }
  if (name !== 'patch') return []
  return [...asString(args.patch).matchAll(/^\*\*\* \w+ File: (.+)$/gm)].map(([, file = '']) => ({
    path: absolute(place, file.trim()),
  }))
}

const MAX_TEXT_CHARS = 30_000

/** A code block: clients render text as Markdown. */
export const codeContent = (text: string): ToolCallContent[] => {
  const code = shortenMiddle(text.trimEnd(), MAX_TEXT_CHARS)
  if (code.trim() === '') return []
  return [{ type: 'content', content: { type: 'text', text: codeBlock(code) } }]
}

export type Result = {
  /** The JSON value, or the text. */
  raw: unknown
  text: string
  isError: boolean
}

/** Reads a tool result as the model gets it. */
export const readResult = (content: string): Result => {
  let value: unknown = null
  try {
    value = JSON.parse(content)
  } catch {
    // Results of MCP servers may be plain text.
    return { raw: content, text: content, isError: false }
  }
  const { error, output, content: fileText, exit_code: code } = asObject(value)
  const errorText = asString(error)
  const printed = asString(output) || asString(fileText)
  const parts = [printed, errorText].filter(part => part !== '')
  const isSilentFailure = parts.length === 0 && typeof code === 'number' && code !== 0
  const text = isSilentFailure ? `Exit code ${code}` : parts.join('\n')
  // A result that can have text shows nothing where it has none, such as of a silent command.
  const hasText = [error, output, fileText].some(part => typeof part === 'string')
  return { raw: value, text: hasText ? text : content, isError: errorText !== '' }
}
