/**
 * What a rejection is about. The provider's own `param` decides; without one, a field that the sentence names in a documented
 * form, or a sentence that servers are known to say. Sentences may quote the prompt, so nothing else in them is evidence.
 */
import type { ProviderFailure } from '../failure.ts'
import type { ProviderRequest } from '../types.ts'
import type { Objection, Quirks } from './quirks.ts'

export type QuirkRow = Omit<Objection, 'isPartial'> & {
  /** Paths of the request's fields, with dots: `tools`, `messages.3.reasoning_content`. */
  field: RegExp
  /** Sentences about it. Without them, naming the field is enough. */
  says?: RegExp
}

/** Errors of servers that require earlier reasoning in the conversation. */
export const MISSING_REASONING =
  /(?:reasoning|thinking)[\s\S]{0,80}(?:passed back|(?:is (?:missing|required)|must be (?:present|included|provided))[\s\S]{0,60}(?:assistant|message|tool call))|reasoning_content[\s\S]{0,40}(?:is (?:missing|required)|must be (?:present|included|provided))|missing[\s\S]{0,40}(?:reasoning_content|thinking block)/i

/** Statuses of requests that contain something unsupported. */
export const isObjection = ({ status, message }: ProviderFailure): boolean =>
  status === 400 ||
  status === 422 ||
  status === 501 ||
  // Aggregators use 404 when no provider of the model supports tools.
  (status === 404 && /support tool use|support tools/i.test(message)) ||
  // LiteLLM wraps the rejections of providers in its own errors; llama.cpp misses an option of its own.
  (status === 500 && /UnsupportedParamsError|BadRequestError|--jinja/.test(message))

/** Three and more words in quotation marks are somebody's text. */
const QUOTATION =
  /"[^"\s]+(?:\s+[^"\s]+){2,}"|“[^”\s]+(?:\s+[^”\s]+){2,}”|`[^`\s]+(?:\s+[^`\s]+){2,}`|(?<!\w)'[^'\s]+(?:\s+[^'\s]+){2,}'(?!\w)/g

/** The sentence without what it quotes. */
export const ownWords = ({ message }: { message: string }): string =>
  message.replace(QUOTATION, '""')

const PATH = String.raw`['"\x60\\]{0,2}([A-Za-z_][\w.[\]]*)`

/** How servers name the field: OpenAI, xAI, Groq, Google, pydantic (FastAPI, Anthropic, vLLM), serde, Python, LiteLLM. */
const NAMING: readonly RegExp[] = [
  String.raw`\b(?:unsupported|unknown|unrecognized|invalid|unexpected|extra)(?: request| body| input)? (?:parameter|argument|field|keyword argument|property|value|name|key)s?(?: supplied| provided)?:? ?\(?\[?${PATH}`,
  String.raw`\b(?:argument|parameter|field|property)s? not (?:supported|allowed|permitted)(?: on this model| with this model)?: ?${PATH}`,
  String.raw`\b(?:does not|doesn't|cannot) (?:support|accept) (?:the )?(?:parameter|argument|field)s?:? ?\(?\[?${PATH}`,
  String.raw`\b(?:property|field|parameter|argument) ${PATH}['"\x60]? (?:is|are) (?:not |un)(?:supported|allowed|permitted|recognized|known|expected)`,
  String.raw`\bthe ${PATH}['"\x60]? (?:field|parameter|argument|property) is (?:not |un)(?:supported|allowed|permitted)`,
  String.raw`(?:^|[\s:('"\x60])${PATH}['"\x60]? (?:is|are) (?:not |un)(?:supported|allowed|permitted|recognized|known|expected)`,
  String.raw`(?:^|[\s([])${PATH}: (?:extra inputs?|field required|input should|unexpected|unknown|unsupported|unrecognized|not (?:supported|allowed|permitted)|list should|value error)`,
  String.raw`\binvalid ['"\x60]([A-Za-z_][\w.[\]]*)['"\x60]`,
  String.raw`\binvalid (?:value|type) (?:for|at|in) ${PATH}`,
  String.raw`\bfield: ${PATH}`,
  String.raw`\bloc['"]?: ?[[(]['"]body['"], ?${PATH}`,
  String.raw`\(${PATH}['"\x60]? was unexpected`,
].map(source => new RegExp(source, 'gi'))

/** "Stream is not supported while …": a word of the sentence, which may be about the moment, and not the name of a field. */
const IS_SPOKEN = /^[\s(]*[a-z]+ (?:is|are) /i

/** `messages[2].content` and `body.messages.2.content` are written alike. */
const normalized = (path: string): string =>
  path
    .replace(/\[['"]?(\w+)['"]?\]/g, '.$1')
    .replace(/\.{2,}/g, '.')
    .replace(/^body\.|\.$/g, '')
    .toLowerCase()

/** A path to what somebody said, not to a field that we add. */
const IS_PROMPT =
  /^(?:messages|input|contents|system|instructions)(?:\.\d+)?(?:\.(?:user|assistant|system|tool))?\.(?:content|output|parts|input|arguments|text)(?:\.(?:content|text|str|\d+))*$/

const isPromptPath = (path: string): boolean => path.includes('.') && IS_PROMPT.test(path)

/** The parameter in the error object. LiteLLM writes Python's `None`. */
const paramOf = ({ param }: ProviderFailure): string | null =>
  param === undefined || /^(?:none|null)?$/i.test(param) ? null : normalized(param)

/** False when the error object names another parameter. */
export const paramIs = (failure: ProviderFailure, field: RegExp): boolean => {
  const param = paramOf(failure)
  return param === null || field.test(param)
}

const namedIn = (words: string): { path: string; words: string }[] =>
  NAMING.flatMap(pattern =>
    [...words.matchAll(pattern)].map(match => ({
      path: normalized(match[1] ?? ''),
      words: match[0],
    })),
  )

/** Names with an underscore or a dot are no English words. */
const mentionedIn = (words: string): string[] =>
  (words.match(/[A-Za-z]\w*(?:(?:\.|\[\w*\])\w*)*/g) ?? [])
    .map(normalized)
    .filter(path => /[._]/.test(path))

const contentAsText = ({ content }: ProviderRequest['messages'][number]): string =>
  typeof content === 'string' ? content : JSON.stringify(content)

/** The words may come from the conversation, for example because it is about this very error. */
const isFromConversation = (words: string, { messages }: ProviderRequest): boolean =>
  messages.some(message => contentAsText(message).includes(words))

/** The first row that the rejection is about and that is not known yet. `changes`: whether a quirk changes the request. */
export const findObjection = (
  rows: readonly QuirkRow[],
  failure: ProviderFailure,
  quirks: Quirks,
  request: ProviderRequest,
  changes: (quirk: Objection['quirk']) => boolean,
): Objection | null => {
  const rest = rows.filter(({ quirk }) => !quirks.has(quirk))
  const words = ownWords(failure)
  const param = paramOf(failure)
  if (param !== null) {
    if (isPromptPath(param)) return null
    const match = rest.find(
      ({ field, says, quirk }) =>
        field.test(param) && (says?.test(words) ?? true) && changes(quirk),
    )
    return match ? toObjection(match) : null
  }
  const fields = namedIn(words)
  const mentioned = mentionedIn(words)
  const prompt = [...fields.map(({ path }) => path), ...mentioned].find(isPromptPath)
  // It may be about the messages themselves, such as their roles and signatures; anything else in it is a quotation.
  const possible = prompt ? rest.filter(({ says, field }) => says && field.test(prompt)) : rest
  for (const row of possible) {
    const sentence = row.says?.exec(words)?.[0]
    const naming = row.says ? undefined : fields.find(({ path }) => row.field.test(path))
    const evidence = sentence ?? naming?.words
    // The server may name the field without saying what is wrong with it.
    const isMentioned = !row.says && mentioned.some(path => row.field.test(path))
    if ((evidence === undefined && !isMentioned) || !changes(row.quirk)) continue
    // A field such as `reasoning` is also a word of what somebody wrote.
    const quoted = naming && /^[a-z]+$/.test(naming.path) ? naming.path : evidence
    const isCertain =
      quoted !== undefined &&
      !isFromConversation(quoted, request) &&
      !(naming && IS_SPOKEN.test(naming.words))
    return isCertain ? toObjection(row) : { quirk: row.quirk, scope: 'call' }
  }
  return null
}

const toObjection = ({ quirk, scope, isHarmless }: QuirkRow): Objection => ({
  quirk,
  scope,
  ...(isHarmless && { isHarmless }),
})
