/** Writes the system prompt: who the agent is, where it works, and how the person wants it to speak. Pure. */

export type PromptParts = {
  /** Text of SOUL.md; blank means our own identity. */
  soul: string
  workspace: string
  /** What is kept between conversations; blank for nothing. */
  memory?: string
  /** Blank for none. */
  personality?: string
  /** Why this turn is another kind of turn; blank for an ordinary one. */
  occasion?: string
  /** Only the day is told, so that the prompt stays the same over a session's day. */
  now: Date
  platform?: string
}

const IDENTITY = `You are a capable assistant working on the user's own machine through tools. Be direct, accurate and brief. Look before you change something, and say plainly what you did and what you could not do. Never invent the result of a tool. When a command is denied, do not try to reach the same end by another way; ask instead.`

/** SOUL.md is read whole up to here; what is longer loses its middle. */
const MAX_SOUL_CHARS = 20_000

const clip = (text: string): string =>
  text.length <= MAX_SOUL_CHARS
    ? text
    : `${text.slice(0, MAX_SOUL_CHARS * 0.7)}\n[… cut …]\n${text.slice(-MAX_SOUL_CHARS * 0.2)}`

const aboutWorkspace = (workspace: string) =>
  `The active workspace is ${workspace}. Each message of the user may begin with a tag of the form [Workspace: <absolute path>]; the newest tag is authoritative over any earlier mention of a workspace. It is the default directory of all file and terminal tools: relative paths start there. Do not repeat the tag in your answers.`

export const systemPrompt = (parts: PromptParts): string => {
  const soul = parts.soul.trim()
  const personality = parts.personality?.trim() ?? ''
  const platform = parts.platform ?? process.platform
  return [
    soul === '' ? IDENTITY : clip(soul),
    aboutWorkspace(parts.workspace),
    ...(parts.memory ? [parts.memory] : []),
    `Environment: ${platform}; today is ${parts.now.toISOString().slice(0, 10)}. Answers are shown as Markdown.`,
    ...(personality === '' ? [] : [personality]),
    ...(parts.occasion ? [parts.occasion] : []),
  ].join('\n\n')
}
