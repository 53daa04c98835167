/** Builds the system prompt: a part that is constant per session, for prompt caches, and a part per turn. Pure. */

export type SkillsIndex = readonly {
  /** Empty for uncategorized skills. */
  category: string
  description: string
  skills: readonly { name: string; description: string }[]
}[]

export type ContextFile = { name: string; text: string }

/** Constant over a conversation. Empty parts are omitted. */
export type StablePromptParts = {
  /** Where responses are displayed; default: the page. */
  surface?: 'page' | 'terminal'
  /** Text of SOUL.md; empty: the built-in identity. */
  soul: string
  /** Names of the available tools. */
  tools: readonly string[]
  /** For models that tend to announce actions instead of calling tools. */
  enforceTools: boolean
  /** `agent.system_prompt` of the configuration. */
  instructions: string
  /** Notes from earlier conversations. */
  memory: string
  skills: SkillsIndex
  /** Instruction files in the workspace. */
  context: readonly ContextFile[]
  /** The day the conversation started. */
  startDay: string
  model: string
  provider: string
  platform: string
}

/** Valid for one turn; not stored. */
export type TurnPromptParts = {
  workspace: string
  personality: string
  /** Instructions for unattended turns. */
  preamble: string
}

const IDENTITY = `You are a capable assistant working on the user's own machine through tools. Be direct, accurate and brief. Look before you change something, and say plainly what you did and what you could not do. Never invent the result of a tool. When a command is denied, do not try to reach the same end by another way; ask instead.`

/** Included only for available tools: a model calls tools that are mentioned. */
const GUIDANCE: readonly (readonly [tool: string, text: string])[] = [
  [
    'memory',
    'Notes outlive this conversation: keep with the memory tool what will still help weeks from now, such as preferences, corrections, names and facts of this machine or project. Write plain facts, short. Leave out what belongs to the task at hand, what a file already says, and secrets. What you keep now is shown to you from the next conversation on.',
  ],
  [
    'session_search',
    'When the user refers to something that was said or done before and it is not in this conversation, look it up with session_search before you ask them to repeat it.',
  ],
  [
    'skill_manage',
    'When a task took many steps or several attempts and will come up again, offer to keep the way that worked as a skill with skill_manage. When a skill you followed turns out to be wrong or out of date, correct it before you finish.',
  ],
]

const ENFORCEMENT = `Act through your tools in the same answer in which you decide to: never end an answer with a promise of what you will do next. Go on until the task is done and you have checked the result, or until only the user can take the next step. An answer either calls a tool or hands over a finished result.`

const ANNOUNCING_MODELS = ['gpt', 'codex', 'gemini', 'gemma', 'grok']

/** `agent.tool_use_enforcement`: `auto` (by model name), always, never, or for names that contain one of these. */
export const needsToolEnforcement = (
  model: string,
  setting: 'auto' | boolean | readonly string[],
): boolean => {
  if (typeof setting === 'boolean') return setting
  const name = model.toLowerCase()
  const fragments = setting === 'auto' ? ANNOUNCING_MODELS : setting
  return fragments.some(fragment => fragment.trim() !== '' && name.includes(fragment.toLowerCase()))
}

const MAX_CHARS = 20_000
const HEAD_SHARE = 0.7
const TAIL_SHARE = 0.2

/** Truncates the middle of a long text. */
export const truncateText = (text: string, name = 'the text', max = MAX_CHARS): string =>
  text.length <= max
    ? text
    : `${text.slice(0, max * HEAD_SHARE)}\n\n[… ${name} is longer than ${max} characters: its middle is left out here …]\n\n${text.slice(-max * TAIL_SHARE)}`

const MAX_SKILL_CHARS = 60

const shorten = (text: string, max: number): string => {
  const characters = [...text]
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`
}

const skillLine = ({ name, description }: SkillsIndex[number]['skills'][number]): string =>
  description === '' ? `- ${name}` : `- ${name}: ${shorten(description, MAX_SKILL_CHARS)}`

const skillsSection = (index: SkillsIndex): string => {
  if (index.length === 0) return ''
  const groups = index.map(({ category, description, skills }) => {
    const head = category === '' ? '' : `${category}${description === '' ? '' : `: ${description}`}`
    return [...(head === '' ? [] : [head]), ...skills.map(skillLine)].join('\n')
  })
  return `# Skills\nInstructions for kinds of tasks, kept on this machine. Before you begin, see whether one fits, even in part; if so, load it with skill_view and follow it.\n\n${groups.join('\n\n')}`
}

const projectSection = (files: readonly ContextFile[]): string =>
  files.length === 0
    ? ''
    : `# Project instructions\nFrom files of the workspace. Follow them where they concern your task.\n\n${files.map(({ name, text }) => `## ${name}\n${text}`).join('\n\n')}`

const workspaceSection = (workspace: string) =>
  `The active workspace is ${workspace}. Each message of the user may begin with a tag of the form [Workspace: <absolute path>]; the newest tag is authoritative over any earlier mention of a workspace. It is the default directory of all file and terminal tools: relative paths start there. A message sent on a later day than the conversation began carries that day in a second tag, [Date: <day>]. Do not repeat the tags in your answers.`

const SURFACES = {
  page: 'Your answers are shown on a web page as Markdown, with code blocks, tables and formulas. The user may read them on a phone.',
  terminal:
    'Your answers are read in a terminal as plain text: short paragraphs and lists, no tables, no headings, code without fences where it stands alone.',
}

const join = (parts: readonly string[]): string =>
  parts
    .map(part => part.trim())
    .filter(part => part !== '')
    .join('\n\n')

export const stablePrompt = (parts: StablePromptParts): string =>
  join([
    parts.soul.trim() === '' ? IDENTITY : truncateText(parts.soul.trim(), 'SOUL.md'),
    ...GUIDANCE.filter(([tool]) => parts.tools.includes(tool)).map(([, text]) => text),
    parts.enforceTools && parts.tools.length > 0 ? ENFORCEMENT : '',
    parts.instructions,
    parts.memory,
    parts.tools.includes('skill_view') ? skillsSection(parts.skills) : '',
    projectSection(parts.context),
    `Environment: ${parts.platform}. The conversation began on ${parts.startDay}. You are ${parts.model}, served by ${parts.provider}.`,
    SURFACES[parts.surface ?? 'page'],
  ])

/** The constant part comes first, so that prompt caches stay valid. */
export const systemPrompt = (
  stable: string,
  { workspace, personality, preamble }: TurnPromptParts,
): string => join([stable, workspaceSection(workspace), personality, preamble])
