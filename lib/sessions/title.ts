/** Session titles: cleans generated ones, and derives provisional and fallback titles from the first message. */
import { oneLine } from '../base/shorten.ts'

const TITLE_CHARS = 80
const PROVISIONAL_CHARS = 64
const FALLBACK_CHARS = 60
const FALLBACK_WORDS = 4
const NO_TOPIC = 'Conversation topic'

/** Truncates by code point, so that no surrogate pair is split. */
const cut = (text: string, chars: number): string => [...text].slice(0, chars).join('').trim()

/** Also removes an unclosed block, and one of which only the closing tag is left. */
const withoutThinking = (text: string): string =>
  text
    .replace(/<(think|thinking|reasoning|thought)\b[^>]*>[\s\S]*?(?:<\/\1\s*>|$)/gi, ' ')
    .replace(/^[\s\S]*<\/(?:think|thinking|reasoning|thought)\s*>/i, ' ')

const WRAPPING = /^[\s"'`*_“”„«»‘’「」『』]+|[\s"'`*_“”„«»‘’「」『』]+$/g
const HEADING = /^#{1,6}\s+/
/** In the languages of the page. */
const NAME =
  'title|titel|título|titulo|titre|titolo|название|заголовок|标题|標題|タイトル|제목|(?:ال)?عنوان'
const KIND =
  '(?:(?:session|chat|conversation|suggested|proposed|generated|possible|new|final|short)[\\s-]+){0,2}'
/** "Title:", "**Session Title:**", "1. **Title**:"; the colon may be inside or outside the bold markup. */
const LABEL = new RegExp(
  `^(?:\\d+[.)]\\s+)?[\\s"'\`*_]*${KIND}(?:${NAME})[\\s"'\`*_]*[:：][\\s*_]*`,
  'i',
)
const ONLY_LABEL = new RegExp(`^${KIND}(?:${NAME})$`, 'i')
/** Of a list with one item, or a quotation. */
const BULLET = /^[-+*•–—>]\s+/
const TAG = /^<title>|<\/title>$/gi
const FENCE = /^```\w*$/
/** Of models that answer everything as JSON. */
const OBJECT = /^\{\s*"(?:title|name)"\s*:\s*("(?:[^"\\]|\\.)*")\s*\}$/

const unwrapped = (line: string): string => {
  let text = line
  while (true) {
    const next = text
      .replace(HEADING, '')
      .replace(BULLET, '')
      .replace(LABEL, '')
      .replace(TAG, '')
      .replace(OBJECT, '$1')
      .replace(WRAPPING, '')
    if (next === text) return text.replace(/(?<!\.)[.。]$/, '')
    text = next
  }
}

/** Verbs a model uses when it talks about the task instead of writing a title. */
const TASK =
  'think|see|start|begin|look|analy[sz]e|summari[sz]e|generate|create|write|produce|provide|come up|consider|break|figure|find|identify|determine|choose|pick|craft|suggest|propose|respond|answer|keep|check|focus|try|output|title|give'
const IS = 'is|was|has|seems?|appears?|says?|said|would|should'
const ASKS =
  'wants?|wanted|asks?|asked|needs?|needed|mentions?|mentioned|requests?|requested|greets?|greeted'
const PERSON = "the (?:user|human|assistant)(?:['’]s (?:question|request|message))? (?:\\w+ly )?"
const TALK = 'user|conversation|request|message|chat|exchange|session|question|prompt|context|above'

const beginning = (pattern: string): RegExp =>
  new RegExp(`^(?:(?:okay|ok|alright|well|hmm+|so)[,.!…]? )?(?:${pattern})`, 'i')

/**
 * Matches only sentences of reasoning: a title may begin with the same words ("Let's Encrypt", "I Will Survive"), or even with
 * the same sentence, but then it is written as one ("The Conversation Was Recorded").
 */
const SENTENCES = [
  `${PERSON}(?:${IS})\\b`,
  `the (?:conversation|request|task|message|question) (?:is|was|seems|appears|asks|should|would)\\b`,
  `(?:i|we)(?:['’](?:ll|d|m|re))? (?:(?:need|have|want|am going|are going|going|should|must|will|can|would|am asked|['’]ll) )?(?:to |just )?(?:${TASK})\\b`,
  `i(?:['’]m| am) (?:going|asked|supposed|sorry|happy|glad|unable|an ai|not able|here to)\\b`,
  `let (?:me|us) (?:\\w+ly )?(?:${TASK})\\b`,
  `let['’]s (?:\\w+ly )?(?:${TASK})\\b`,
].map(beginning)

const META = [
  `${PERSON}(?:${ASKS})\\b`,
  `here(?: is|['’]s| are) .*\\b(?:titles?|summary|suggestions?|options?|name)\\b`,
  'here you (?:go|are)\\b',
  `first, (?:i|we|let|the (?:${TALK}))\\b`,
  `this (?:conversation|chat|session|request) (?:is about|was about|is a|seems|appears)\\b`,
  `based on (?:the|this|our|your) (?:\\w+ )?(?:${TALK})\\b`,
  `looking at (?:the|this|our|your) (?:\\w+ )?(?:${TALK})\\b`,
  'as an ai\\b',
  `analy[sz]ing the (?:${TALK})\\b`,
  'generate (?:a|the) (?:\\w+, )*(?:(?:short|concise|brief|descriptive|suitable|new|good|fitting) )*title(?:$|[.:,]| for (?:this|the)\\b)',
].map(beginning)

const YES =
  'sure thing|sure|okay|ok|got it|done|understood|of course|certainly|absolutely|great|thanks|thank you|yes|no problem|no|will do|alright|hello there|hello|hi there|hi'
const ACKNOWLEDGEMENT = [
  new RegExp(`^(?:${YES})[\\s!,.…]*$`, 'i'),
  /** Followed by something about the answer itself. */
  new RegExp(
    `^(?:${YES})(?:[,!.…:—-]+ ?|,? )(?:here(?:['’]s| is| are| you)|i\\b|i['’]|you(?:['’]re| are)|we (?:can|will)|let me|how (?:can|may)|what can|happy to|glad to|the title|a title|that(?:['’]s| is)|sounds good|no problem|thank)`,
    'i',
  ),
]

const SMALL = new Set('a an the and or of to in on at for from by with as'.split(' '))
const isTitleCase = (text: string): boolean =>
  (text.match(/\p{L}[\p{L}'’]*/gu) ?? []).every(word => SMALL.has(word) || /^\p{Lu}/u.test(word))

const isRejected = (title: string): boolean =>
  !/[\p{L}\p{N}]/u.test(title) ||
  isProvisional(title) ||
  [...META, ...ACKNOWLEDGEMENT].some(pattern => pattern.test(title)) ||
  (!isTitleCase(title) && SENTENCES.some(pattern => pattern.test(title)))

/** The title in a model's response; null when there is none. A `#word` stays: clients treat it as a tag. */
export const cleanTitle = (raw: string): string | null => {
  for (const line of withoutThinking(raw).split('\n')) {
    const title = cut(unwrapped(oneLine(line)), TITLE_CHARS)
    // Only a label: the title is on the next line.
    if (title === '' || ONLY_LABEL.test(title) || FENCE.test(line.trim())) continue
    return isRejected(title) ? null : withoutTags(title)
  }
  return null
}

/** Characters; covers the line with the workspace's path. A pattern over a message of megabytes would block the service. */
const READ_CHARS = 8_000

/** The beginning of the user's own text, without the lines that we or the page add. */
const ownWords = (text: string): string =>
  oneLine(
    text
      .slice(0, READ_CHARS)
      .replace(/^\[Workspace: [^\]\n]*\]\n/, '')
      .replace(/(?:^|\n+)\[Attached files: [^\n]*\]\s*$/, ''),
  )

/** A `#word` of a title is a tag, which only a person makes: `#404` of a message is the number of an issue. */
const withoutTags = (title: string): string => title.replace(/(?<=^|\s)#(?=[\p{L}\p{N}])/gu, '')

/** The title until a model has generated one: the beginning of the first message. */
export const provisionalTitle = (text: string): string =>
  withoutTags(cut(ownWords(text), PROVISIONAL_CHARS)) || 'Untitled'

/** True for a default title, or one that is the beginning of `firstText`. */
export const isProvisional = (title: string | null | undefined, firstText?: string): boolean => {
  const line = oneLine(title ?? '')
  if (line === '' || /^(?:untitled|new chat|new conversation)$/i.test(line)) return true
  // Earlier versions kept the tags.
  return firstText !== undefined && withoutTags(line) === provisionalTitle(firstText)
}

const PLAIN = new Set(
  'the and for with that this from into about can could would should will you your please how what why when where who which are was were has have had not but its our out get let make does did just some any all'.split(
    ' ',
  ),
)

/** Inner dots and slashes are part of a word: `notes.txt`, `src/app.ts`, `Node.js`. */
const WORD = /[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}'’_-]|[./](?=[\p{L}\p{N}]))*/gu

/** Up to four words of the first sentence. */
export const fallbackTitle = (text: string): string => {
  const sentence = /^.*?(?:[.!?。！？](?=\s|$)|$)/su.exec(ownWords(text))?.[0] ?? ''
  const words = cut(sentence, FALLBACK_CHARS * 2).match(WORD) ?? []
  const topic: string[] = []
  for (const word of words) {
    const plain = word.toLowerCase()
    // Scripts without spaces produce one long word, which is used as it is.
    const long = (plain.match(/\p{L}/gu)?.length ?? 0) >= 3
    if (!long || PLAIN.has(plain) || topic.some(other => other.toLowerCase() === plain)) continue
    topic.push(word)
    if (topic.length === FALLBACK_WORDS) break
  }
  const title = cut(topic.join(' '), FALLBACK_CHARS)
  if (title === '') return NO_TOPIC
  // A file name keeps its case.
  return /[./]/.test(topic[0] ?? '') ? title : title.charAt(0).toUpperCase() + title.slice(1)
}
