/** Sentence patterns the scripted demo model understands. */

export type Intent =
  | { kind: 'list'; path: string }
  | { kind: 'read'; path: string }
  | { kind: 'find'; text: string }
  | { kind: 'write'; path: string; content: string }
  | { kind: 'edit'; path: string; old: string; replacement: string }
  | { kind: 'run'; command: string }
  | { kind: 'ask' }
  | { kind: 'think' }
  | { kind: 'long'; count: number | null }
  | { kind: 'markdown' }
  | { kind: 'plan'; topic: string }
  | { kind: 'help' }

/** Quoted text, or one word that could be a file name. */
const NAME = String.raw`(?:"([^"]+)"|'([^']+)'|\x60([^\x60]+)\x60|(\S+?))`
const TEXT = String.raw`(?:"([\s\S]*?)"|'([\s\S]*?)'|\x60([\s\S]*?)\x60)`

const first = (groups: (string | undefined)[]): string =>
  groups.find(group => group !== undefined) ?? ''

type Reader = { pattern: RegExp; read: (groups: (string | undefined)[]) => Intent }

const reader = (source: string, read: Reader['read']): Reader => ({
  pattern: new RegExp(source, 'i'),
  read,
})

const PLEASE = String.raw`^(?:(?:please|now|then|and|can you|could you|would you)\s+)*`
const END = String.raw`\s*[.!?]?\s*$`

/** First match wins: full sentences come before loose words. */
const READERS: Reader[] = [
  reader(
    `${PLEASE}(?:run|execute|exec)(?:\\s+the)?(?:\\s+command)?:?\\s*\`\`\`(?:\\w+\\n)?([\\s\\S]+?)\`\`\``,
    ([command]) => ({
      kind: 'run',
      command: (command ?? '').trim(),
    }),
  ),
  reader(
    `${PLEASE}(?:run|execute|exec)(?:\\s+the)?(?:\\s+command)?:?\\s+${TEXT}${END}`,
    groups => ({
      kind: 'run',
      command: first(groups),
    }),
  ),
  reader(
    `${PLEASE}(?:run|execute|exec)(?:\\s+the\\s+command|\\s+command)?:?\\s+([\\s\\S]+)$`,
    ([command]) => ({
      kind: 'run',
      command: (command ?? '').trim(),
    }),
  ),
  reader(String.raw`^\$\s+([\s\S]+)$`, ([command]) => ({
    kind: 'run',
    command: (command ?? '').trim(),
  })),
  reader(
    `${PLEASE}(?:write|create|make|save)\\s+(?:a\\s+|the\\s+)?(?:new\\s+)?(?:file\\s+)?(?:called\\s+|named\\s+)?${NAME}\\s*(?:with(?:\\s+the)?(?:\\s+(?:content|contents|text))?|containing|saying)\\s*:?\\s*([\\s\\S]+)$`,
    groups => ({
      kind: 'write',
      path: first(groups.slice(0, 4)),
      content: unquoted(groups[4] ?? ''),
    }),
  ),
  reader(
    `${PLEASE}(?:edit|replace|change)\\s+${TEXT}\\s+(?:with|by|to|into)\\s+${TEXT}\\s+in\\s+(?:the\\s+file\\s+)?${NAME}${END}`,
    groups => ({
      kind: 'edit',
      old: first(groups.slice(0, 3)),
      replacement: first(groups.slice(3, 6)),
      path: first(groups.slice(6)),
    }),
  ),
  reader(
    `${PLEASE}(?:edit|change|in)\\s+(?:the\\s+file\\s+)?${NAME}[:,]?\\s+(?:and\\s+)?(?:replace|change)\\s+${TEXT}\\s+(?:with|by|to|into)\\s+${TEXT}${END}`,
    groups => ({
      kind: 'edit',
      path: first(groups.slice(0, 4)),
      old: first(groups.slice(4, 7)),
      replacement: first(groups.slice(7)),
    }),
  ),
  reader(
    `${PLEASE}(?:list|show|ls)(?:\\s+me)?(?:\\s+(?:all|the|my))*\\s+(?:files|directory|folder|workspace)(?:\\s+(?:in|of|under)\\s+(?:the\\s+)?(?:directory\\s+|folder\\s+)?${NAME})?${END}`,
    groups => ({ kind: 'list', path: directory(first(groups)) }),
  ),
  reader(`${PLEASE}(?:ls|dir)(?:\\s+${NAME})?${END}`, groups => ({
    kind: 'list',
    path: directory(first(groups)),
  })),
  reader(
    `${PLEASE}(?:read|open|cat|print|show(?:\\s+me)?)\\s+(?:the\\s+)?file\\s+${NAME}${END}`,
    groups => ({ kind: 'read', path: first(groups) }),
  ),
  reader(
    `${PLEASE}(?:find|search(?:\\s+for)?|grep|look\\s+for)\\s+(?:the\\s+(?:text|word)\\s+)?(?:${TEXT}|([\\s\\S]+?))(?:\\s+in\\s+(?:the\\s+)?(?:files|workspace|project|code))?${END}`,
    groups => ({ kind: 'find', text: first(groups) }),
  ),
  reader(
    `${PLEASE}ask\\s+(?:me|us)\\b|\\b(?:a|some)\\s+question\\s+for\\s+me\\b|\\bclarify\\b`,
    () => ({ kind: 'ask' }),
  ),
  reader(
    String.raw`\bthink(?:ing)?\s+(?:aloud|out\s+loud|first|hard)|\bshow\b.*\bthinking\b|\breason(?:ing)?\s+aloud`,
    () => ({
      kind: 'think',
    }),
  ),
  reader(String.raw`\bcount\s+(?:up\s+)?to\s+(\d{1,4})\b`, ([count]) => ({
    kind: 'long',
    count: Number(count),
  })),
  reader(
    String.raw`\b(?:long|lengthy)\s+(?:answer|text|reply|story|response)\b|\banswer\s+at\s+length\b|\blorem\b`,
    () => ({
      kind: 'long',
      count: null,
    }),
  ),
  reader(
    String.raw`\bmarkdown\b|\bformatting\b|\b(?:show|draw|make)\b.*\b(?:table|diagram|mermaid|math|formula)\b`,
    () => ({
      kind: 'markdown',
    }),
  ),
  reader(
    `${PLEASE}(?:make|write|create|draw\\s+up)?\\s*(?:me\\s+)?(?:a\\s+|the\\s+)?(?:plan|todo(?:\\s+list)?)(?:\\s+(?:for|to|of|about)\\s+([\\s\\S]+?))?${END}`,
    ([topic]) => ({ kind: 'plan', topic: topic ?? '' }),
  ),
  reader(`${PLEASE}(?:read|open|cat|print)\\s+${NAME}${END}`, groups => ({
    kind: 'read',
    path: first(groups),
  })),
  reader(`${PLEASE}show(?:\\s+me)?\\s+${NAME}${END}`, groups => ({
    kind: 'read',
    path: first(groups),
  })),
]

const directory = (path: string): string =>
  path === '' || /^(?:here|workspace)$/i.test(path) ? '.' : path

const unquoted = (text: string): string => {
  const fenced = /^```\w*\n([\s\S]*?)\n?```\s*$/.exec(text.trim())
  if (fenced) return `${fenced[1]}\n`
  const quoted = /^(["'`])([\s\S]*)\1[.!]?$/.exec(text.trim())
  return quoted ? (quoted[2] ?? '') : text.trim()
}

/** Removes the tags the server adds to the user's message. */
export const stripMessageTags = (content: string): string =>
  content
    .replace(/^\[Workspace:[^\]\n]*\]\n/, '')
    .replace(/\n\n\[Attached files:[^\]\n]*\]\s*$/, '')
    .trim()

/** The intent of a message; `help` when no pattern matches. */
export const readIntent = (text: string): Intent => {
  if (text.length > 20_000) return { kind: 'help' }
  for (const { pattern, read } of READERS) {
    const match = pattern.exec(text)
    if (match) return read(match.slice(1))
  }
  return { kind: 'help' }
}
