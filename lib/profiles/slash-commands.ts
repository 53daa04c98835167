/** What `GET /api/commands` lists: the slash commands of the page, those of the user, and the skills that can be called by name. */
import { slashCommands } from '../base/slash-commands.ts'
import type { OwnCommand, SkillRow } from '../schema/skill.ts'

export type Command = {
  name: string
  description: string
  category: string
  aliases: string[]
  args_hint: string
  subcommands: string[]
  /** Of other clients' lists; always false here. */
  cli_only: boolean
  gateway_only: boolean
}

type CommandFields = {
  name: string
  description: string
  category: string
  aliases?: readonly string[]
  args_hint?: string
  subcommands?: readonly string[]
}

const toCommand = ({
  aliases = [],
  args_hint = '',
  subcommands = [],
  ...rest
}: CommandFields): Command => ({
  ...rest,
  aliases: [...aliases],
  args_hint,
  subcommands: [...subcommands],
  cli_only: false,
  gateway_only: false,
})

const builtIn = slashCommands.map(toCommand)
const reserved = new Set(builtIn.flatMap(({ name, aliases }) => [name, ...aliases]))

/** The name of a command of the page, which nothing of the user replaces. */
export const isBuiltIn = (slug: string): boolean => reserved.has(slug)

/** Skills whose slug is not the name of a command; of two skills with the same slug, the first. */
export const callableSkills = <S extends { slug: string }>(skills: readonly S[]): S[] =>
  skills.filter(
    ({ slug }, index) =>
      slug !== '' && !isBuiltIn(slug) && skills.findIndex(other => other.slug === slug) === index,
  )

/** What the user added: own commands, and skills without a command of the same name. */
export const calledByName = (
  skills: readonly SkillRow[],
  own: readonly OwnCommand[],
): Command[] => [
  ...own.map(({ name, description, argument_hint }) =>
    toCommand({ name, description, category: 'Your commands', args_hint: argument_hint }),
  ),
  ...callableSkills(skills.filter(({ slug }) => !own.some(({ name }) => name === slug))).map(
    ({ slug, description }) =>
      toCommand({ name: slug, description, category: 'Skills', args_hint: '[request]' }),
  ),
]

export const listCommands = (
  skills: readonly SkillRow[],
  own: readonly OwnCommand[],
): Command[] => [...builtIn, ...calledByName(skills, own)]
