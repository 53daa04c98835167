/** The slash commands a client may offer: those this service really carries out, and the skills that may be called by name. */
import type { SkillRow } from './schema/skill.ts'

export type Command = {
  name: string
  description: string
  category: string
  aliases: string[]
  args_hint: string
  subcommands: string[]
  cli_only: boolean
  gateway_only: boolean
}

type Words = Pick<Command, 'name' | 'description'> &
  Partial<Pick<Command, 'aliases' | 'args_hint' | 'subcommands'>>

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']

const REGISTRY: Readonly<Record<string, readonly Words[]>> = {
  Session: [
    { name: 'new', description: 'Start a new conversation', aliases: ['reset'] },
    { name: 'clear', description: 'Clear the messages of this conversation' },
    { name: 'retry', description: 'Send the last message again' },
    { name: 'undo', description: 'Take the last message and its answer back' },
    { name: 'title', description: 'Rename this conversation', args_hint: '<text>' },
    {
      name: 'compact',
      description: 'Summarize earlier messages for the model',
      aliases: ['compress'],
      args_hint: '[topic to keep]',
    },
    {
      name: 'branch',
      description: 'Continue in a copy of this conversation',
      aliases: ['fork'],
    },
    {
      name: 'rollback',
      description: 'Show what turns changed in files, or undo one',
      args_hint: '[number]',
    },
    { name: 'stop', description: 'Stop the running turn' },
    { name: 'status', description: 'Show what this conversation is doing' },
    {
      name: 'queue',
      description: 'Send a message when the running turn ends',
      aliases: ['q'],
      args_hint: '<text>',
    },
    {
      name: 'steer',
      description: 'Send a message into the running turn',
      args_hint: '<text>',
    },
    {
      name: 'interrupt',
      description: 'Stop the running turn and send this instead',
      args_hint: '<text>',
    },
    {
      name: 'btw',
      description: 'Ask a side question, without tools',
      args_hint: '<text>',
    },
    {
      name: 'background',
      description: 'Run a prompt in a separate conversation',
      aliases: ['bg'],
      args_hint: '<text>',
    },
    {
      name: 'export',
      description: 'Download this conversation',
      args_hint: '[format]',
      subcommands: ['md', 'json', 'html'],
    },
  ],
  Configuration: [
    { name: 'model', description: 'Choose the model', args_hint: '[search]' },
    { name: 'workspace', description: 'Choose the workspace', args_hint: '[search]' },
    {
      name: 'personality',
      description: 'Set or list personalities',
      args_hint: '[name]',
      subcommands: ['none', 'default', 'clear'],
    },
    {
      name: 'reasoning',
      description: 'Set the reasoning effort, or show and hide it',
      args_hint: '[level, show or hide]',
      subcommands: [...EFFORTS, 'show', 'hide', 'on', 'off'],
    },
    { name: 'theme', description: 'Set the theme', args_hint: '<name>' },
    { name: 'usage', description: 'Show or hide token usage' },
    { name: 'yolo', description: 'Run commands without asking in this conversation, or ask again' },
  ],
  'Tools & Skills': [
    { name: 'skills', description: 'Browse the skills', args_hint: '[search]' },
    { name: 'tools', description: 'Choose the agent’s tools', aliases: ['toolsets'] },
  ],
  Info: [
    { name: 'help', description: 'List all commands' },
    { name: 'insights', description: 'Show recent tokens and cost', args_hint: '[days]' },
  ],
}

const toCommand = (category: string, words: Words): Command => ({
  name: words.name,
  description: words.description,
  category,
  aliases: words.aliases ?? [],
  args_hint: words.args_hint ?? '',
  subcommands: words.subcommands ?? [],
  cli_only: false,
  gateway_only: false,
})

const builtIn = Object.entries(REGISTRY).flatMap(([category, list]) =>
  list.map(words => toCommand(category, words)),
)
const taken = new Set(builtIn.flatMap(({ name, aliases }) => [name, ...aliases]))

/** A skill whose name a command has can only be called in words. */
export const callableSkills = <S extends Pick<SkillRow, 'slug'>>(skills: readonly S[]): S[] =>
  skills.filter(
    ({ slug }, at) =>
      slug !== '' && !taken.has(slug) && skills.findIndex(other => other.slug === slug) === at,
  )

export const listCommands = (skills: readonly SkillRow[]): Command[] => [
  ...builtIn,
  ...callableSkills(skills).map(({ slug, description }) =>
    toCommand('Skills', { name: slug, description, args_hint: '[request]' }),
  ),
]
