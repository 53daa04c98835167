/**
 * The slash commands of the composer: names, arguments and English descriptions. `GET /api/commands` lists them; the page runs
 * them (`public/features/composer/slash-commands.ts` holds one function for each name).
 */
import { EFFORTS } from './efforts.ts'

type SlashCommandEntry = {
  /** Typed after the slash. Translations and the page's functions are keyed by it. */
  name: string
  description: string
  /** Heading in `GET /api/commands`. */
  category: 'Session' | 'Configuration' | 'Tools & Skills' | 'Info'
  aliases?: readonly string[]
  /** What may follow the name: `<required>` or `[optional]`. Absent when nothing may. */
  args_hint?: string
  /** Fixed words the argument may be. */
  subcommands?: readonly string[]
}

/** In the order of the completion list, which preselects its first match: of two commands, the one that loses nothing comes first. */
const SLASH_COMMANDS = [
  { name: 'help', description: 'List all commands', category: 'Info' },
  { name: 'new', description: 'Start a new chat', category: 'Session', aliases: ['reset'] },
  {
    name: 'model',
    description: 'Choose the model',
    category: 'Configuration',
    args_hint: '[search]',
  },
  {
    name: 'workspace',
    description: 'Choose the workspace',
    category: 'Configuration',
    args_hint: '[search]',
  },
  { name: 'usage', description: 'Show or hide token usage', category: 'Configuration' },
  { name: 'theme', description: 'Set the theme', category: 'Configuration', args_hint: '<name>' },
  {
    name: 'personality',
    description: 'Set or list personalities',
    category: 'Configuration',
    args_hint: '[name or none]',
    subcommands: ['none', 'default', 'clear'],
  },
  {
    name: 'reasoning',
    description: 'Set the reasoning effort, or show or hide reasoning',
    category: 'Configuration',
    args_hint: '[none … xhigh, show or hide]',
    subcommands: [...EFFORTS, 'show', 'hide', 'on', 'off'],
  },
  { name: 'title', description: 'Rename this chat', category: 'Session', args_hint: '<text>' },
  { name: 'retry', description: 'Send the last message again', category: 'Session' },
  { name: 'undo', description: 'Undo the last message', category: 'Session' },
  {
    name: 'rollback',
    description: 'Review or undo file changes',
    category: 'Session',
    args_hint: '[number]',
  },
  { name: 'stop', description: 'Stop the answer', category: 'Session' },
  { name: 'status', description: 'Show the state of this chat', category: 'Session' },
  {
    name: 'queue',
    description: 'Send a message after the current answer',
    category: 'Session',
    aliases: ['q'],
    args_hint: '<text>',
  },
  {
    name: 'steer',
    description: 'Send guidance without stopping the answer',
    category: 'Session',
    args_hint: '<text>',
  },
  {
    name: 'interrupt',
    description: 'Stop the answer and send this instead',
    category: 'Session',
    args_hint: '<text>',
  },
  {
    name: 'btw',
    description: 'Ask a side question, without tools',
    category: 'Session',
    args_hint: '<text>',
  },
  {
    name: 'background',
    description: 'Run a prompt in a separate chat',
    category: 'Session',
    aliases: ['bg'],
    args_hint: '<text>',
  },
  {
    name: 'plan',
    description: 'Turn plan mode on or off: read-only until you approve a plan',
    category: 'Configuration',
    args_hint: '[task]',
  },
  {
    name: 'yolo',
    description: 'Turn auto-approve on or off for this chat',
    category: 'Configuration',
  },
  {
    name: 'compact',
    description: 'Summarize earlier messages for the model',
    category: 'Session',
    aliases: ['compress'],
    args_hint: '[topic to keep]',
  },
  {
    name: 'branch',
    description: 'Continue in a copy of this chat',
    category: 'Session',
    aliases: ['fork'],
  },
  {
    name: 'skills',
    description: 'Browse skills',
    category: 'Tools & Skills',
    args_hint: '[search]',
  },
  {
    name: 'tools',
    description: 'Choose the agent’s tools',
    category: 'Tools & Skills',
    aliases: ['toolsets'],
  },
  {
    name: 'insights',
    description: 'Show recent usage and cost',
    category: 'Info',
    args_hint: '[7, 30 or 90]',
  },
  {
    name: 'export',
    description: 'Download this chat',
    category: 'Session',
    args_hint: '[md, json or html]',
    subcommands: ['md', 'json', 'html'],
  },
  {
    name: 'clear',
    description: 'Empty the view of this chat; its messages stay',
    category: 'Session',
  },
] as const satisfies readonly SlashCommandEntry[]

export type SlashCommandName = (typeof SLASH_COMMANDS)[number]['name']

/** The same list with every optional key present in the type. */
export const slashCommands: readonly (SlashCommandEntry & { name: SlashCommandName })[] =
  SLASH_COMMANDS
