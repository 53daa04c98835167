/** Subagents of the user: Markdown files in `agents` of the home, with their own prompt, tools, and model. */
import { join } from 'node:path'
import { ownToolName } from '../../base/tools.ts'
import { descriptionOf, scalarText, listOfTexts } from './front-matter.ts'
import { type MarkdownFile, markdownFiles } from './markdown-files.ts'

export type SubagentFile = {
  name: string
  description: string
  /** Null: all tools of the caller. */
  tools: string[] | null
  /** Null: as for other subagents. */
  model: string | null
  /** The text after the front matter. */
  prompt: string
  path: string
}

export const MAX_SUBAGENTS = 40
/** Names of models that only another agent knows. */
const OTHER_MODELS = new Set(['', 'inherit', 'default', 'sonnet', 'opus', 'haiku', 'fable'])

/** One line, as it is in the list of a prompt. */
export const SUBAGENT_NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._:-]{0,63}$/u

/** The key `name` where it is valid, else that of the file. */
export const subagentName = ({ values, name }: MarkdownFile): string => {
  const ownName = scalarText(values.name)
  return SUBAGENT_NAME.test(ownName) ? ownName : name
}

/** A rule such as `Bash(git *)` allows a part of a tool. That is not supported, so the tool is left out. */
const toolsOf = (value: unknown): string[] | null => {
  if (value === undefined || value === null) return null
  const names = listOfTexts(value)
  if (names.includes('*')) return null
  return names.filter(name => !name.includes('(')).map(ownToolName)
}

/** Of several files with one name, the first counts. */
export const subagentFiles = (home: { dir: string }): SubagentFile[] => {
  const files = markdownFiles(join(home.dir, 'agents')).map((file): SubagentFile => {
    const model = scalarText(file.values.model)
    return {
      name: subagentName(file),
      description: descriptionOf(file),
      tools: toolsOf(file.values.tools),
      model: OTHER_MODELS.has(model.toLowerCase()) ? null : model,
      prompt: file.body.trim(),
      path: file.path,
    }
  })
  return files
    .filter(({ name }, index) => files.findIndex(other => other.name === name) === index)
    .slice(0, MAX_SUBAGENTS)
}
