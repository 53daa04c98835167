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
  /** A small context window in tokens: every text of unbounded length is cut to a share of it. Absent: it is large. */
  contextLength?: number
  /** Notes from earlier conversations. */
  memory: string
  skills: SkillsIndex
  /** Subagents of the user, which delegate_task can start by name; absent: none. */
  subagents?: readonly { name: string; description: string }[]
  /** Instruction files of the project, outermost first. */
  context: readonly ContextFile[]
  /** The day the conversation started. */
  startDay: string
  model: string
  provider: string
  /** Lines about the machine and the workspace at the start of the conversation. */
  facts: string
}

/** Valid for one turn; not stored. */
export type TurnPromptParts = {
  workspace: string
  personality: string
  /** Instructions for unattended turns. */
  preamble: string
}

const IDENTITY = `You are a capable assistant working on the user's own machine through tools. Be direct, accurate, and brief. Look before you change something, and say plainly what you did and what you could not do. Never invent a tool's result. If a command is denied, don't reach the same end another way; ask.`

/** Included only for available tools: a model calls tools that are mentioned. */
const GUIDANCE: readonly (readonly [tool: string, text: string])[] = [
  [
    'patch',
    'Read a file before you edit it, and make the smallest change that does the job, in the style of the text around it.',
  ],
  [
    'terminal',
    'After you change code, run its tests, or a command that shows that the change works, and report the result as it is. Commit or push only when asked.',
  ],
  [
    'memory',
    'Notes outlast this conversation: save with the memory tool what will still matter weeks from now, such as preferences, corrections, names, and facts about this machine or project. Write short, plain facts. Leave out secrets, details of the current task, and what a file already says. You see new notes from the next conversation on.',
  ],
  [
    'session_search',
    'When the user refers to something that is not in this conversation, look it up with session_search before you ask.',
  ],
  [
    'skill_manage',
    'When a task took many steps or attempts and will come up again, offer to save what worked as a skill with skill_manage. When a skill you followed is wrong or outdated, correct it before you finish.',
  ],
]

const ENFORCEMENT = `Act through your tools in the same answer in which you decide to: never end with a promise of what you will do next. Continue until the task is done and checked, or until only the user can take the next step. An answer either calls a tool or delivers a finished result.`

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

/** Shares of a small window, in characters per token of it; a token has about four. */
const SMALL_SHARES = { own: 0.1, memory: 0.1, skills: 0.1, context: 0.3, facts: 0.1 }

/** Cuts the parts whose length is the user's choice to shares of a small window. */
const fitted = (parts: StablePromptParts): StablePromptParts => {
  const { contextLength: window, soul, instructions, memory, context, facts } = parts
  if (!window) return parts
  const max = Math.floor((window * SMALL_SHARES.context) / Math.max(1, context.length))
  return {
    ...parts,
    soul: truncateText(soul.trim(), 'SOUL.md', window * SMALL_SHARES.own),
    instructions: truncateText(instructions, 'the text', window * SMALL_SHARES.own),
    memory: truncateText(memory, 'the list of notes', window * SMALL_SHARES.memory),
    context: context.map(({ name, text }) => ({ name, text: truncateText(text, name, max) })),
    facts: truncateText(facts, 'the list of facts', window * SMALL_SHARES.facts),
  }
}

const MAX_SKILL_CHARS = 60

const shorten = (text: string, max: number): string => {
  const characters = [...text]
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`
}

const skillLine = ({ name, description }: SkillsIndex[number]['skills'][number]): string =>
  description === '' ? `- ${name}` : `- ${name}: ${shorten(description, MAX_SKILL_CHARS)}`

const skillsSection = ({ skills: index, contextLength }: StablePromptParts): string => {
  if (index.length === 0) return ''
  const groups = index.map(({ category, description, skills }) => {
    const head = category === '' ? '' : `${category}${description === '' ? '' : `: ${description}`}`
    return [...(head === '' ? [] : [head]), ...skills.map(skillLine)].join('\n')
  })
  const max = contextLength ? contextLength * SMALL_SHARES.skills : Number.POSITIVE_INFINITY
  const list = truncateText(groups.join('\n\n'), 'the list', max)
  return `# Skills\nInstructions for kinds of tasks. Before you begin, check whether one fits, even in part; if so, load it with skill_view and follow it.\n\n${list}`
}

const subagentsSection = ({ subagents = [] }: StablePromptParts): string =>
  subagents.length === 0
    ? ''
    : `# Subagents\nThe user has defined these for delegate_task (agent). Use one when its description fits the task, or when the user names it.\n\n${subagents.map(skillLine).join('\n')}`

const projectSection = (files: readonly ContextFile[]): string =>
  files.length === 0
    ? ''
    : `# Project instructions\nFrom files of the project, general ones first; where two differ, the later one applies. Follow them where they concern your task.\n\n${files.map(({ name, text }) => `## ${name}\n${text}`).join('\n\n')}`

const workspaceSection = (workspace: string) =>
  `The active workspace is ${workspace}. A user message may begin with a tag of the form [Workspace: <absolute path>]; the newest tag is authoritative over any earlier mention of a workspace. It is the default directory of all file and terminal tools: relative paths start there. A message sent on a later day than the conversation began carries that day in a second tag, [Date: <day>]. Do not repeat the tags.`

const SURFACES = {
  page: 'Your answers are shown on a web page as Markdown, with code blocks, tables, and formulas, often on a phone.',
  terminal:
    'Your answers are read in a terminal as plain text: short paragraphs and lists, no tables, headings, or code fences.',
}

const environmentSection = ({ facts, startDay, model, provider }: StablePromptParts): string =>
  `# Environment\nAs of the start of this conversation; check again before you rely on it.\n${facts}\n- The conversation began on ${startDay}. You are ${model}, served by ${provider}.`

const join = (parts: readonly string[]): string =>
  parts
    .map(part => part.trim())
    .filter(part => part !== '')
    .join('\n\n')

export const stablePrompt = (given: StablePromptParts): string => {
  const parts = fitted(given)
  return join([
    parts.soul.trim() === '' ? IDENTITY : truncateText(parts.soul.trim(), 'SOUL.md'),
    ...GUIDANCE.filter(([tool]) => parts.tools.includes(tool)).map(([, text]) => text),
    parts.enforceTools && parts.tools.length > 0 ? ENFORCEMENT : '',
    parts.instructions,
    parts.memory,
    parts.tools.includes('skill_view') ? skillsSection(parts) : '',
    parts.tools.includes('delegate_task') ? subagentsSection(parts) : '',
    projectSection(parts.context),
    environmentSection(parts),
    SURFACES[parts.surface ?? 'page'],
  ])
}

/** The constant part comes first, so that prompt caches stay valid. */
export const systemPrompt = (
  stable: string,
  { workspace, personality, preamble }: TurnPromptParts,
): string => join([stable, workspaceSection(workspace), personality, preamble])
