/** Titles: what a model wrote made presentable, what stands until then, and what serves when a model gives nothing. */

const TITLE_CHARS = 80
const PROVISIONAL_CHARS = 64
const FALLBACK_CHARS = 60
const FALLBACK_WORDS = 4
const NO_TOPIC = 'Conversation topic'

/** By code point, so that no character is cut in half. */
const cut = (text: string, chars: number): string => [...text].slice(0, chars).join('').trim()

const squeeze = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** Also a block that was never closed, and one of which only the end came. */
const withoutThinking = (text: string): string =>
  text
    .replace(/<(think|thinking|reasoning|thought)\b[^>]*>[\s\S]*?(?:<\/\1\s*>|$)/gi, ' ')
    .replace(/^[\s\S]*<\/(?:think|thinking|reasoning|thought)\s*>/i, ' ')

const WRAPPING = /^[\s"'`*_“”„«»‘’「」『』]+|[\s"'`*_“”„«»‘’「」『』]+$/g
const HEADING = /^#{1,6}\s+/
/** "Title:", "**Session Title:**", "**Title**:"; the colon may stand inside or outside of the bold. */
const LABEL =
  /^[\s"'`*_]*(?:(?:session|chat|conversation|suggested|generated)\s+)?title[\s*_]*[:：][\s*_]*/i

const unwrapped = (line: string): string => {
  let text = line
  while (true) {
    const next = text.replace(HEADING, '').replace(LABEL, '').replace(WRAPPING, '')
    if (next === text) return text.replace(/(?<!\.)[.。]$/, '')
    text = next
  }
}

/** The model talks about its task instead of doing it. */
const META =
  /^(?:(?:okay|ok|alright|well|hmm+|so)[,.!…]?\s+)?(?:the\s+(?:user|person|human|assistant|conversation|request|task)\b(?=.*\b(?:is|are|was|wants?|asks?|asked|asking|says?|said|needs?|seems?|appears?|would|should|has)\b)|(?:i|we)\s+(?:need|should|must|will|have|want|can|am|think|would)\b|(?:i'll|i'm|i’ll|i’m|we'll|we’ll)\b|let\s+(?:me|us)\b|let['’]s\b|here(?:\s+is|['’]s|\s+are)\b|first,|this\s+(?:conversation|chat|session|request)\s+(?:is|seems|appears|was)\b|based\s+on\b|as\s+an\s+ai\b|looking\s+at\b|analy[sz]ing\s+the\s+(?:user|conversation|request)|generate\s+(?:a|the)\b.*\btitle)/i
const ACKNOWLEDGEMENT =
  /^(?:sure|sure thing|ok|okay|got it|done|understood|of course|certainly|absolutely|great|thanks|thank you|yes|no|no problem|will do|alright|hello|hi|hi there)(?:[,!.…\s].*)?$/i
/** An acknowledgement of more words than these is a sentence about something. */
const ACKNOWLEDGEMENT_CHARS = 40

const isRejected = (title: string): boolean =>
  !/[\p{L}\p{N}]/u.test(title) ||
  isProvisional(title) ||
  META.test(title) ||
  (title.length <= ACKNOWLEDGEMENT_CHARS && ACKNOWLEDGEMENT.test(title))

/** Null when what the model wrote is no title. A `#word` in it stays: clients read it as a tag. */
export const cleanTitle = (raw: string): string | null => {
  for (const line of withoutThinking(raw).split('\n')) {
    const title = cut(unwrapped(squeeze(line)), TITLE_CHARS)
    // A line that is nothing but a label: the title stands below it.
    if (title === '' || /^(?:session |chat |conversation )?title$/i.test(title)) continue
    return isRejected(title) ? null : title
  }
  return null
}

/** What a person wrote, without what the page or we put around it. */
const ownWords = (text: string): string =>
  squeeze(
    text
      .replace(/^\[Workspace: [^\]\n]*\]\n/, '')
      .replace(/\n*\[Attached files: [^\]\n]*\]\s*$/, ''),
  )

/** From the first message, until there is a better one. */
export const provisionalTitle = (text: string): string =>
  cut(ownWords(text), PROVISIONAL_CHARS) || 'Untitled'

/** Nobody chose this title: it is a default, or merely the beginning of `firstText`. */
export const isProvisional = (title: string | null | undefined, firstText?: string): boolean => {
  const given = squeeze(title ?? '')
  if (given === '' || /^(?:untitled|new chat|new conversation)$/i.test(given)) return true
  return firstText !== undefined && given === provisionalTitle(firstText)
}

const PLAIN = new Set(
  'the and for with that this from into about can could would should will you your please how what why when where who which are was were has have had not but its our out get let make does did just some any all'.split(
    ' ',
  ),
)

/** Up to four words of the first sentence. */
export const fallbackTitle = (text: string): string => {
  const sentence = /^.*?(?:[.!?。！？](?=\s|$)|$)/su.exec(ownWords(text))?.[0] ?? ''
  const words =
    cut(sentence, FALLBACK_CHARS * 2).match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’_-]*/gu) ?? []
  const kept: string[] = []
  for (const word of words) {
    const plain = word.toLowerCase()
    // Scripts without spaces give one long word, which is kept as it is.
    const long = (plain.match(/\p{L}/gu)?.length ?? 0) >= 3
    if (!long || PLAIN.has(plain) || kept.some(other => other.toLowerCase() === plain)) continue
    kept.push(word)
    if (kept.length === FALLBACK_WORDS) break
  }
  const title = cut(kept.join(' '), FALLBACK_CHARS)
  return title === '' ? NO_TOPIC : title.charAt(0).toUpperCase() + title.slice(1)
}
