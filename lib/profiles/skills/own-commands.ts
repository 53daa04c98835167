/** Slash commands of the user: Markdown files in `commands` of the home, whose text replaces the typed command. */
import { join } from 'node:path'
import type { OwnCommand } from '../../schema/skill.ts'
import { descriptionOf, scalarText } from './front-matter.ts'
import { callableSkills } from '../slash-commands.ts'
import { markdownFiles } from './markdown-files.ts'

type CommandHome = { dir: string }

/** Not those without text, which would be sent as an empty message. */
const filesOf = (home: CommandHome) =>
  callableSkills(
    markdownFiles(join(home.dir, 'commands')).flatMap(file => {
      const text = file.body.trim()
      return text === '' ? [] : [{ ...file, text, slug: file.name.toLowerCase() }]
    }),
  )

/** Those whose name is not that of a built-in command. */
export const ownCommands = (home: CommandHome): OwnCommand[] =>
  filesOf(home).map(file => ({
    name: file.slug,
    description: descriptionOf(file),
    argument_hint: scalarText(file.values['argument-hint']),
    file: file.path,
  }))

const CALL = /^\/([\w:.-]+)(?:\s+([\s\S]*))?$/
/** `$10` is an amount. */
const PLACEHOLDER = /\$(ARGUMENTS\b|[1-9](?![0-9]))/g

/** Words, or texts in quotes. */
const argumentsOf = (text: string): string[] =>
  [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, word]) => double ?? single ?? word ?? '',
  )

/** `/name and words` → the command's text with the words in place; null when there is no such command. */
export const expandOwnCommand = (home: CommandHome, text: string): string | null => {
  const match = CALL.exec(text.trim())
  const slug = match?.[1]?.toLowerCase()
  if (slug === undefined) return null
  const command = filesOf(home).find(file => file.slug === slug)
  if (!command) return null
  const argumentText = match?.[2]?.trim() ?? ''
  const words = argumentsOf(argumentText)
  const { text: body } = command
  // One pass: placeholders in the arguments are text.
  const filled = body.replace(PLACEHOLDER, (_, name: string) =>
    name === 'ARGUMENTS' ? argumentText : (words[Number(name) - 1] ?? ''),
  )
  const isUsed = body.search(PLACEHOLDER) !== -1
  return isUsed || argumentText === '' ? filled : `${filled}\n\n${argumentText}`
}
