/** Script of the demo model: the sentences it understands, and its messages for each, given the tool results so far. */
import { codeBlock } from '../../base/code-block.ts'
import { asArray, asString } from '../../base/json.ts'
import { AFTER_THOUGHT, HELP, longText, MARKDOWN, THOUGHTS } from './demo-texts.ts'

export type ToolUse = { name: string; args: Record<string, unknown> }

/** One message: reasoning, text and tool calls. */
export type Turn = { reasoning?: string; text?: string; uses?: ToolUse[] }

type Json = Readonly<Record<string, unknown>>

/** A tool result, parsed if it is JSON. */
export type ToolAnswer = { name: string; json: Json; raw: string }

/** The next message, given the results since the last one of the user. */
type Scene = (results: readonly ToolAnswer[]) => Turn

const plural = (count: unknown, noun: string) => `${Number(count)} ${noun}${count === 1 ? '' : 's'}`

/** A code block with a fence longer than any in the text. */
const fenced = (body: string, max = 4_000): string => {
  const excerpt = body.length > max ? `${body.slice(0, max)}\n[…]` : body
  return codeBlock(excerpt.replace(/\n$/, ''))
}

const code = (name: string) => `\`${name.replaceAll('`', "'")}\``

/** The reply to a failed tool call; null when it succeeded. */
const failureReply = ({ json, raw }: ToolAnswer): string | null => {
  const error = asString(json.error)
  if (json.status === 'blocked') return `That did not run. ${error || 'It was blocked.'}`
  if (error !== '' && json.exit_code === undefined) return `That did not work: ${error}`
  return Object.keys(json).length === 0 ? `The tool answered:\n\n${fenced(raw)}` : null
}

/** One call, and a report of its result. */
const calling =
  (name: string, args: Json, report: (json: Json) => string, text?: string): Scene =>
  results => {
    const last = results.at(-1)
    if (last) return { text: failureReply(last) ?? report(last.json) }
    return { ...(text && { text }), uses: [{ name, args }] }
  }

const list = (path: string): Scene =>
  calling(
    'search_files',
    { pattern: '*', target: 'files', path, limit: 100 },
    json => {
      const files = asArray(json.files).map(asString)
      const where = path === '.' ? 'The workspace' : code(path)
      if (files.length === 0) return `${where} holds no files that a search would show.`
      const more = json.truncated ? `\n\nThese are ${files.length} of ${json.total_count}.` : ''
      const names = files.map(name => `- ${code(name)}`).join('\n')
      return `${where} holds ${plural(json.total_count, 'file')}, the newest first:\n\n${names}${more}`
    },
    'Let me look.',
  )

const read = (path: string): Scene =>
  calling('read_file', { path }, json => {
    const sizes = `${plural(json.total_lines, 'line')} and ${plural(json.file_size, 'byte')}`
    const content = fenced(asString(json.content).replace(/^ *\d+\|/gm, ''))
    return `${code(path)} has ${sizes}${json.truncated ? '; these are the first of them' : ''}:\n\n${content}`
  })

const find = (text: string): Scene => {
  const pattern = text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return calling('search_files', { pattern, path: '.', limit: 50 }, json => {
    const matches = asArray(json.matches) as { path: string; line: number; content: string }[]
    if (matches.length === 0) return `I found ${code(text)} in no file.`
    const rows = matches.map(({ path, line, content }) => `${path}:${line}: ${content.trim()}`)
    return `I found ${code(text)} in ${plural(json.total_count, 'line')}:\n\n${fenced(rows.join('\n'))}`
  })
}

const write = (path: string, content: string): Scene =>
  calling(
    'write_file',
    { path, content },
    json =>
      `I wrote ${plural(json.bytes_written, 'byte')} to ${code(path)}.${json.dirs_created ? ' Its directory is new.' : ''}`,
  )

const edit = (path: string, old_string: string, new_string: string): Scene =>
  calling(
    'patch',
    { mode: 'replace', path, old_string, new_string },
    json => `${code(path)} is changed:\n\n\`\`\`diff\n${asString(json.diff).trimEnd()}\n\`\`\``,
  )

const run = (command: string): Scene =>
  calling('terminal', { command: command.trim() }, json => {
    const output = asString(json.output).trim()
    const printed = output === '' ? 'It printed nothing.' : `It printed:\n\n${fenced(output)}`
    const error = asString(json.error)
    if (error !== '') return `The command did not finish by itself. ${error}\n\n${printed}`
    if (json.exit_code === null) return `The command still runs in the background. ${printed}`
    return json.exit_code === 0
      ? `The command ended well (exit code 0). ${printed}`
      : `The command failed with exit code ${json.exit_code}. ${printed}`
  })

const ASK = calling(
  'clarify',
  {
    question: 'Which of these would you like to see next?',
    choices: ['A table', 'A command', 'A plan', 'Nothing, thank you'],
  },
  json =>
    `You answered: “${asString(json.user_response)}”. A real model would now act on that; I only repeat it, because I am a script.`,
)

const STEPS = ['Look at the workspace', 'Choose what to do', 'Report']

/** A plan with three real steps: to-do list, search, to-do list, summary. */
const plan =
  (topic: string): Scene =>
  results => {
    const todos = (count: number) =>
      STEPS.map((content, at) => ({
        id: String(at + 1),
        content,
        status: at < count ? 'completed' : at === count ? 'in_progress' : 'pending',
      }))
    const last = results.at(-1)
    const failed = last && failureReply(last)
    if (failed) return { text: failed }
    const about =
      topic === ''
        ? ''
        : ` I cannot plan “${topic}”, because I am a script; this plan is always the same.`
    const turns: Turn[] = [
      {
        text: `I will keep a list of three steps.${about}`,
        uses: [{ name: 'todo', args: { todos: todos(0) } }],
      },
      {
        uses: [
          {
            name: 'search_files',
            args: { pattern: '*', target: 'files', path: '.', limit: 20 },
          },
        ],
      },
      { uses: [{ name: 'todo', args: { todos: todos(3), merge: true } }] },
    ]
    const done = Number((last?.json.summary as { completed?: unknown } | undefined)?.completed ?? 0)
    const files = plural(results[1]?.json.total_count, 'file')
    return (
      turns[results.length] ?? {
        text: `The plan is done: ${done} of ${STEPS.length} steps. The workspace holds ${files} that a search would show.`,
      }
    )
  }

const saying =
  (turn: Turn): Scene =>
  () =>
    turn

/** Quoted text, or one word that could be a file name. */
const NAME = String.raw`(?:"([^"]+)"|'([^']+)'|\x60([^\x60]+)\x60|(\S+?))`
const TEXT = String.raw`(?:"([\s\S]*?)"|'([\s\S]*?)'|\x60([\s\S]*?)\x60)`
const PLEASE = String.raw`^(?:(?:please|now|then|and|can you|could you|would you)\s+)*`
const RUN = String.raw`${PLEASE}(?:run|execute|exec)(?:\s+the)?(?:\s+command)?`
const END = String.raw`\s*[.!?]?\s*$`

type Groups = (string | undefined)[]

const first = (groups: Groups): string => groups.find(group => group !== undefined) ?? ''

const directory = (path: string): string =>
  path === '' || /^(?:here|workspace)$/i.test(path) ? '.' : path

const unquoted = (text: string): string => {
  const block = /^```\w*\n([\s\S]*?)\n?```\s*$/.exec(text.trim())
  if (block) return `${block[1]}\n`
  const quoted = /^(["'`])([\s\S]*)\1[.!]?$/.exec(text.trim())
  return quoted ? (quoted[2] ?? '') : text.trim()
}

/** First match wins: full sentences come before loose words. */
const SENTENCES: readonly [pattern: string, scene: (groups: Groups) => Scene][] = [
  [
    String.raw`${RUN}:?\s*\x60\x60\x60(?:\w+\n)?([\s\S]+?)\x60\x60\x60`,
    groups => run(first(groups)),
  ],
  [String.raw`${RUN}:?\s+${TEXT}${END}`, groups => run(first(groups))],
  [String.raw`${RUN}:?\s+([\s\S]+)$`, groups => run(first(groups))],
  [String.raw`^\$\s+([\s\S]+)$`, groups => run(first(groups))],
  [
    String.raw`${PLEASE}(?:write|create|make|save)\s+(?:a\s+|the\s+)?(?:new\s+)?(?:file\s+)?(?:called\s+|named\s+)?${NAME}\s*(?:with(?:\s+the)?(?:\s+(?:content|contents|text))?|containing|saying)\s*:?\s*([\s\S]+)$`,
    groups => write(first(groups.slice(0, 4)), unquoted(groups[4] ?? '')),
  ],
  [
    String.raw`${PLEASE}(?:edit|replace|change)\s+${TEXT}\s+(?:with|by|to|into)\s+${TEXT}\s+in\s+(?:the\s+file\s+)?${NAME}${END}`,
    groups => edit(first(groups.slice(6)), first(groups.slice(0, 3)), first(groups.slice(3, 6))),
  ],
  [
    String.raw`${PLEASE}(?:edit|change|in)\s+(?:the\s+file\s+)?${NAME}[:,]?\s+(?:and\s+)?(?:replace|change)\s+${TEXT}\s+(?:with|by|to|into)\s+${TEXT}${END}`,
    groups => edit(first(groups.slice(0, 4)), first(groups.slice(4, 7)), first(groups.slice(7))),
  ],
  [
    String.raw`${PLEASE}(?:list|show|ls)(?:\s+me)?(?:\s+(?:all|the|my))*\s+(?:files|directory|folder|workspace)(?:\s+(?:in|of|under)\s+(?:the\s+)?(?:directory\s+|folder\s+)?${NAME})?${END}`,
    groups => list(directory(first(groups))),
  ],
  [String.raw`${PLEASE}(?:ls|dir)(?:\s+${NAME})?${END}`, groups => list(directory(first(groups)))],
  [
    String.raw`${PLEASE}(?:read|open|cat|print|show(?:\s+me)?)\s+(?:the\s+)?file\s+${NAME}${END}`,
    groups => read(first(groups)),
  ],
  [
    String.raw`${PLEASE}(?:find|search(?:\s+for)?|grep|look\s+for)\s+(?:the\s+(?:text|word)\s+)?(?:${TEXT}|([\s\S]+?))(?:\s+in\s+(?:the\s+)?(?:files|workspace|project|code))?${END}`,
    groups => find(first(groups)),
  ],
  [
    String.raw`${PLEASE}ask\s+(?:me|us)\b|\b(?:a|some)\s+question\s+for\s+me\b|\bclarify\b`,
    () => ASK,
  ],
  [
    String.raw`\bthink(?:ing)?\s+(?:aloud|out\s+loud|first|hard)|\bshow\b.*\bthinking\b|\breason(?:ing)?\s+aloud`,
    () => saying({ reasoning: THOUGHTS, text: AFTER_THOUGHT }),
  ],
  [
    String.raw`\bcount\s+(?:up\s+)?to\s+(\d{1,4})\b`,
    ([count]) => saying({ text: longText(Number(count)) }),
  ],
  [
    String.raw`\b(?:long|lengthy)\s+(?:answer|text|reply|story|response)\b|\banswer\s+at\s+length\b|\blorem\b`,
    () => saying({ text: longText(null) }),
  ],
  [
    String.raw`\bmarkdown\b|\bformatting\b|\b(?:show|draw|make)\b.*\b(?:table|diagram|mermaid|math|formula)\b`,
    () => saying({ text: MARKDOWN }),
  ],
  [
    String.raw`${PLEASE}(?:make|write|create|draw\s+up)?\s*(?:me\s+)?(?:a\s+|the\s+)?(?:plan|todo(?:\s+list)?)(?:\s+(?:for|to|of|about)\s+([\s\S]+?))?${END}`,
    groups => plan(first(groups)),
  ],
  [
    String.raw`${PLEASE}(?:read|open|cat|print|show(?:\s+me)?)\s+${NAME}${END}`,
    groups => read(first(groups)),
  ],
]

const PATTERNS = SENTENCES.map(([pattern, scene]) => ({ pattern: new RegExp(pattern, 'i'), scene }))

/** The scene of a message; help when it is not understood. */
export const sceneOf = (text: string): Scene => {
  // Patterns must not search a long text for minutes.
  for (const { pattern, scene } of text.length > 20_000 ? [] : PATTERNS) {
    const match = pattern.exec(text)
    if (match) return scene(match.slice(1))
  }
  return saying({ text: HELP })
}
