/**
 * The images of a request: as content parts where the endpoint accepts them, else as notes.
 *
 * What was sent must stay the same in later requests, or the provider's prompt cache is lost. So every choice here depends
 * only on the endpoint and on the messages up to the image, and old images are dropped in big steps; see `firstSent`.
 */
import { imageLabel, type StoredImage } from '../../schema/image.ts'
import { typeOfFile } from '../image-file.ts'
import type { ModelEndpoint, ProviderRequest } from '../types.ts'
import { isClaude } from './anthropic-thinking.ts'
import { type Quirks, smallestLimit } from './quirks.ts'

type Message = ProviderRequest['messages'][number]
type MessagePart = Exclude<Message['content'], string>[number]

/** Sizes are those of base64, which is what providers limit. */
type Limits = { images: number; bytes: number; imageBytes: number; side: number }

/** Anthropic limits the size of images to 2,000 pixels in requests with more than 20 of them. */
const MAX_IMAGES = 20
/** Gemini accepts requests of 20 MB, fewer than others. */
const MAX_BYTES = 16 * 1024 * 1024
/** Limits of Claude, at any provider. */
const CLAUDE_IMAGE_BYTES = 5 * 1024 * 1024
const CLAUDE_SIDE = 8_000

/** Formats that models do not accept, as their documentation says. */
const REFUSED_TYPES: readonly { model: RegExp; type: string }[] = [
  { model: /gemini/i, type: 'image/gif' },
  { model: /grok/i, type: 'image/gif' },
  { model: /grok/i, type: 'image/webp' },
]

const limitsOf = ({ model }: ModelEndpoint, quirks: Quirks): Limits => {
  const bytes = Math.min(MAX_BYTES, smallestLimit(quirks, 'image bytes '))
  return {
    images: Math.min(MAX_IMAGES, smallestLimit(quirks, 'images ')),
    bytes,
    imageBytes: isClaude(model) ? Math.min(CLAUDE_IMAGE_BYTES, bytes) : bytes,
    side: isClaude(model) ? CLAUDE_SIDE : Number.POSITIVE_INFINITY,
  }
}

const base64Size = ({ bytes }: StoredImage): number => Math.ceil(bytes / 3) * 4

const megabytes = (bytes: number): string => `${Math.round((bytes / (1024 * 1024)) * 10) / 10} MB`

/** Why the endpoint cannot get this image at all; null when it can. */
const refusalOf = (
  image: StoredImage,
  { model }: ModelEndpoint,
  limits: Limits,
  quirks: Quirks,
): string | null => {
  const type = typeOfFile(image.file)
  if (quirks.has(`without ${image.file}`)) return 'the provider rejected it'
  if (REFUSED_TYPES.some(refused => refused.type === type && refused.model.test(model)))
    return `this model does not accept ${type}; convert it to PNG`
  if (base64Size(image) > limits.imageBytes)
    return `an image may have ${megabytes((limits.imageBytes / 4) * 3)} here; make a smaller copy`
  return Math.max(image.width, image.height) > limits.side
    ? `an image may have ${limits.side} pixels per side here; make a smaller copy`
    : null
}

/** Why this model never gets this image; null when it does. */
export const imageRefusal = (image: StoredImage, endpoint: ModelEndpoint): string | null =>
  refusalOf(image, endpoint, limitsOf(endpoint, new Set()), new Set())

type Candidate = { image: StoredImage; size: number; group: number }

/**
 * The index of the first image that is sent. Beyond a limit, old images are dropped until half of it is used. That changes
 * what was sent before, and costs the cache once; dropping one image for each new one would cost it every time. Of the
 * newest message or batch of results, no more is dropped than necessary.
 */
const firstSent = (candidates: readonly Candidate[], limits: Limits): number => {
  let first = 0
  let bytes = 0
  const exceeds = (at: number, share: number): boolean =>
    at - first + 1 > Math.max(1, Math.floor(limits.images * share)) || bytes > limits.bytes * share
  const drop = (): void => {
    bytes -= candidates[first]?.size ?? 0
    first += 1
  }
  for (const [at, { size, group }] of candidates.entries()) {
    bytes += size
    if (!exceeds(at, 1)) continue
    while (first < at && candidates[first]?.group !== group && exceeds(at, 1 / 2)) drop()
    while (first < at && exceeds(at, 1)) drop()
  }
  return first
}

/** The images of the messages, in order. Results of one batch of calls share a group, and so do images of one message. */
const candidatesOf = (messages: readonly Message[]): Candidate[] => {
  let group = 0
  return messages.flatMap(({ role, images = [] }) => {
    if (role !== 'tool') group += 1
    return images.map(image => ({ image, size: base64Size(image), group }))
  })
}

/** For each image of the request in order: null when it is sent, else why not. */
const refusals = ({ endpoint, messages }: ProviderRequest, quirks: Quirks): (string | null)[] => {
  const limits = limitsOf(endpoint, quirks)
  const all = candidatesOf(messages)
  const reasons = all.map(({ image }) => refusalOf(image, endpoint, limits, quirks))
  const sendable = all.filter((_, at) => reasons[at] === null)
  const oldest = sendable[firstSent(sendable, limits)]
  const from = oldest ? all.indexOf(oldest) : all.length
  return reasons.map((reason, at) =>
    reason === null && at < from ? 'older images are no longer sent' : reason,
  )
}

const isRawImage = ({ type }: MessagePart): boolean => type === 'image_url'

const hasRawImages = ({ content }: Message): boolean =>
  typeof content !== 'string' && content.some(isRawImage)

/** The images that the request contains with these quirks. `raw`: also images of imported sessions, which are not stored. */
export const sentImages = (
  request: ProviderRequest,
  quirks: Quirks,
): { files: StoredImage[]; raw: boolean; bytes: number; isInResults: boolean } => {
  const none = { files: [], raw: false, bytes: 0, isInResults: false }
  if (!request.images?.isSent || quirks.has('no images')) return none
  const reasons = refusals(request, quirks)
  const isSent = (_: unknown, at: number): boolean => reasons[at] === null
  const files = request.messages.flatMap(({ images = [] }) => images).filter(isSent)
  const roles = request.messages.flatMap(({ role, images = [] }) => images.map(() => role))
  return {
    files,
    raw: request.messages.some(hasRawImages),
    bytes: files.reduce((sum, image) => sum + base64Size(image), 0),
    isInResults: roles.filter(isSent).includes('tool'),
  }
}

const CANNOT_SEE = 'This model cannot see images.'
const ANALYZER = 'To ask about one, call vision_analyze.'
/** For formats whose tool results are text. */
const FROM_RESULTS = '[Images of the tool results above, not from the user:]'

const note = ({ name }: StoredImage, reason: string): string => `[${name} is not shown: ${reason}]`

const text = (value: string): MessagePart => ({ type: 'text', text: value })

const messageParts = (content: Message['content']): MessagePart[] =>
  typeof content === 'string' ? (content === '' ? [] : [text(content)]) : content

const append = (content: Message['content'], more: readonly string[]): Message['content'] => {
  if (more.length === 0) return content
  const added = more.join('\n')
  if (typeof content !== 'string') return [...content, text(added)]
  return content === '' ? added : `${content}\n${added}`
}

/** The messages without stored images: as the format's own code expects them. */
const plain = (message: Message): Message => {
  if (!message.images) return message
  const { images: _, ...rest } = message
  return rest
}

const blindNote = ({ images }: ProviderRequest): string =>
  `[${CANNOT_SEE}${images?.hasAnalyzer ? ` ${ANALYZER}` : ''}]`

/**
 * For a model that gets no images. The messages of the user stay as they are, unless this was learned from a rejection:
 * then the user expects the model to see them, and the note says why it does not.
 */
const withoutImages = (request: ProviderRequest, quirks: Quirks): Message[] => {
  if (!request.images) return request.messages.map(plain)
  const blind = blindNote(request)
  const isLearned = quirks.has('no images')
  return request.messages.map(message => {
    const { role, images = [], content } = message
    const base =
      typeof content === 'string'
        ? content
        : content.map(part => (isRawImage(part) ? text('[image]') : part))
    const isNoted = images.length > 0 && (role === 'tool' || isLearned)
    const labels = role === 'tool' ? [] : images.map(imageLabel)
    return plain({ ...message, content: isNoted ? append(base, [...labels, blind]) : base })
  })
}

/** The request with images as parts of the content; `inResults`: tool results may contain them. */
export const withImages = (
  request: ProviderRequest,
  quirks: Quirks,
  inResults: boolean,
): ProviderRequest => {
  const { images: source, messages } = request
  if (!source?.isSent || quirks.has('no images'))
    return { ...request, messages: withoutImages(request, quirks) }
  if (!messages.some(({ images }) => images?.length))
    return { ...request, messages: messages.map(plain) }
  const reasons = refusals(request, quirks)
  const mayBeInResults = inResults && !quirks.has('images apart')
  const all: Message[] = []
  /** Images of the current batch of results, which follow the batch: nothing may separate results from their calls. */
  let later: MessagePart[] = []
  const flush = (): void => {
    if (later.length > 0) all.push({ role: 'user', content: [text(FROM_RESULTS), ...later] })
    later = []
  }
  let at = 0
  for (const message of messages) {
    const { role, images = [] } = message
    if (role !== 'tool') flush()
    const pictures: MessagePart[] = []
    const notes: string[] = []
    for (const image of images) {
      const reason = reasons[at++] ?? null
      const bytes = reason === null ? source.load(image.file) : null
      if (bytes) pictures.push(text(imageLabel(image)), imagePart(image, bytes))
      else notes.push(note(image, reason ?? 'its file was removed'))
    }
    const content = append(message.content, notes)
    if (pictures.length === 0) all.push(plain({ ...message, content }))
    else if (role !== 'tool')
      all.push(plain({ ...message, content: [...pictures, ...messageParts(content)] }))
    else if (mayBeInResults)
      all.push(plain({ ...message, content: [...messageParts(content), ...pictures] }))
    else {
      all.push(plain({ ...message, content }))
      later.push(...pictures)
    }
  }
  flush()
  return { ...request, messages: all }
}

const imagePart = ({ file }: StoredImage, bytes: Buffer): MessagePart => ({
  type: 'image_url',
  image_url: { url: `data:${typeOfFile(file)};base64,${bytes.toString('base64')}` },
})
