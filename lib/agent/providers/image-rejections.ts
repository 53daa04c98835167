/** Learns from rejections which images an endpoint accepts, so that a wrong guess never ends a turn. */
import { type Sentence, sentence } from '../../base/sentences.ts'
import type { ProviderFailure } from '../failure.ts'
import type { ProviderRequest } from '../types.ts'
import { sentImages } from './images.ts'
import type { Objection, Quirk, Quirks } from './quirks.ts'
import { ownWords, paramIs } from './rejection.ts'

/** Statuses of requests that the server could not use; some servers report an unsupported image as their own error. */
const STATUSES = new Set([undefined, 400, 404, 413, 415, 422, 500, 501])

const ABOUT_IMAGES = /image|vision|multi-?modal|modalit|mmproj|pixel/i

/** The model takes no images at all. Within a sentence; model names contain periods. */
const UNSUPPORTED = [
  /(?:image|vision|multi-?modal|picture)(?:[^.]|\.(?=\S)){0,60}(?:not (?:supported|enabled|available|allowed)|n.t supported|unsupported|only supported by)/i,
  /(?:not|n.t|cannot|found that) (?:support|accept)(?:[^.]|\.(?=\S)){0,60}(?:image|vision|multi-?modal|picture)/i,
  /unsupported (?:image|vision) input|not a (?:multi-?modal|vision)|mmproj|missing data required for image/i,
  // Servers that know only text: serde, llama.cpp, pydantic, z.ai.
  /unknown variant .{0,3}image|unsupported content part|input tag .{0,3}image/i,
  /input should be .{0,3}text\b|content\.type\b.{0,60}text/i,
  /content\W{0,4}(?:must be|should be|:? input should be|expected)(?: a)?(?: valid)? string/i,
]

/** One image is the problem: its size, its format, its data. */
const ONE_IMAGE =
  /image[ _-]?(?:format|type|mime|media|size|dimension|data|parse)|media.?type|content-type|dimension|exceeds|too (?:large|big|small)|could not process|unable to (?:process|decode)|failed to load|decode|corrupt|valid image|unsupported image(?! input)|base64/i

const MANY = [
  /at most (\d+) images?\b|at most (\d+) image\(s\)/i,
  /(?:max(?:imum)?|up to|limit)[^.\d]{0,30}(\d+) images?\b/i,
  /too many images[\s\S]{0,60}?(?:max(?:imum)?|limit|up to|most|allowed)\D{0,20}(\d+)/i,
  /\d+ images,? exceed\w* the maximum of (\d+)/i,
]

const TOO_LARGE =
  /(?:request|payload|body)[^.]{0,20}too large|exceeds the maximum (?:request )?size/i
/** A limit on tokens, not on bytes. */
const TOKENS = /tokens? per minute|\btpm\b|context/i
/** Below this, the images are not what makes the request large. */
const MIN_BYTES = 256 * 1024

/** Servers that accept images from the user only. */
const IN_RESULTS = /tool_result|function_call_output|\boutput\b|role \W?tool|tool messages?/i

/** Images that are left out one by one before all are. Earlier ones were accepted before, so the newest is the likely one. */
const MAX_SINGLE = 3

const countIn = (message: string): number | null => {
  for (const pattern of MANY) {
    const digits = pattern.exec(message)?.slice(1).find(Boolean)
    if (digits !== undefined) return Number(digits)
  }
  return null
}

/**
 * The next quirk to apply after a rejection; null when images are not the reason. `quirks` includes the quirks that were
 * learned earlier. `attempts`: rejections of this call so far.
 */
export const imageObjection = (
  failure: ProviderFailure,
  quirks: Quirks,
  request: ProviderRequest,
  { inResults, attempts }: { inResults: boolean; attempts: number },
): Objection | null => {
  const { status } = failure
  if (!STATUSES.has(status) || !paramIs(failure, /messages|input|content|image|media|detail/))
    return null
  // Some servers quote the request.
  const message = ownWords(failure).replace(/data:image\/\S+/g, '')
  const sent = sentImages(request, quirks)
  if (sent.files.length === 0 && !sent.raw) return null
  const learn = (quirk: Quirk): Objection => ({
    quirk,
    scope: 'endpoint',
    isPartial: true,
  })
  const isTooLarge = status === 413 || TOO_LARGE.test(message)
  if (isTooLarge && !TOKENS.test(message) && sent.bytes > MIN_BYTES)
    return learn(`image bytes ${Math.floor(sent.bytes / 2)}`)
  const isUnsupported = UNSUPPORTED.some(pattern => pattern.test(message))
  if (!isUnsupported && !ABOUT_IMAGES.test(message) && !IN_RESULTS.test(message)) return null
  const most = countIn(message)
  if (most !== null && most < sent.files.length)
    return learn(most === 0 ? 'no images' : `images ${most}`)
  if (inResults && sent.isInResults && !quirks.has('images apart') && IN_RESULTS.test(message))
    return learn('images apart')
  const isOne = ONE_IMAGE.test(message)
  if (isUnsupported && !isOne) return learn('no images')
  const newest = sent.files.at(-1)
  if (isOne && newest && attempts < MAX_SINGLE) return learn(`without ${newest.file}`)
  // The message may mention images for another reason: nothing is concluded for later calls.
  return ABOUT_IMAGES.test(message) ? { quirk: 'no images', scope: 'call' } : null
}

/** A sentence for the user about images that are left out because of a rejection; null when there are none. */
export const imageNotice = (request: ProviderRequest, quirks: Quirks): Sentence | null => {
  if (!request.images?.isSent) return null
  const images = request.messages.flatMap(({ images = [] }) => images)
  const { model } = request.endpoint
  if (images.length === 0) return null
  if (quirks.has('no images')) {
    const code = request.images.hasAnalyzer ? 'model.no_images_ask' : 'model.no_images'
    return sentence(code, { model })
  }
  const rejected = images.find(({ file }) => quirks.has(`without ${file}`))
  return rejected ? sentence('model.image_rejected', { model, file: rejected.name }) : null
}
