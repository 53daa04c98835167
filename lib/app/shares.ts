/** Composition: share links, and the page that one shows. */
import { join } from 'node:path'
import { toSeconds } from '../base/clock.ts'
import { openThrottle, type Throttle } from '../people/throttle.ts'
import { redact, redactValue } from '../base/redact/redact.ts'
import { IMAGE_FILE } from '../schema/image.ts'
import type { Message } from '../schema/message.ts'
import type { ShareOptions } from '../schema/share.ts'
import { contentText } from '../sessions/entries.ts'
import { UNTITLED } from '../sessions/list-row.ts'
import { hidePaths, toSharedParts } from '../sessions/shares/shared-chat.ts'
import { openShares, type Shares } from '../sessions/shares/shares.ts'
import { readWhole } from '../store/read-text.ts'
import type { Composition } from './data.ts'

/** Pictures of one page together. Those beyond it are only named. */
const MAX_PICTURE_BYTES = 8 << 20
/** How long a page is reused, in milliseconds: anyone who has a link can reload it all the time. */
const REUSE_MS = 5_000
const MAX_REUSED = 4

const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
}

export type ShareServices = {
  shares: Shares
  /** Wrong tokens count as wrong passwords do, but apart from them. */
  shareThrottle: Throttle
  sharePages: {
    /** What a link that is made now will show. */
    preview: (sessionId: string, options: ShareOptions) => Promise<string>
    /** Undefined: unknown, revoked, expired, off, or its chat or profile is deleted. All of these look the same. */
    open: (token: string, address: string | null) => Promise<string | undefined>
  }
  /** The title of a chat as a link shows it, and the position up to which a new link shows it. */
  sharedState: (sessionId: string) => { title: string; before: number }
}

type Wanted = ShareOptions & {
  session_id: string
  /** Null: all messages. */
  before: number | null
  title: string
  created_at: number
  expires_at: number | null
}

/** Without what was decided after the link was made, in whole seconds. */
const withoutLater = (message: Message, created: number): Message =>
  message._decisions
    ? { ...message, _decisions: message._decisions.filter(each => each.answered_at < created + 1) }
    : message

export const composeShares = ({ config, data, log, clock }: Composition): ShareServices => {
  const { homes, sessions, settings, toolOutput } = data
  const shares = openShares(join(config.stateDir, 'shares.json'), { clock, log })
  const hide = hidePaths([config.userHome, config.baseHome, config.agentHome, config.stateDir])
  const clean = (text: string): string => hide(text)

  const titleOf = (sessionId: string): string =>
    clean(redact(sessions.require(sessionId).title || UNTITLED).replace(/\s+/g, ' '))

  const dataUrl = (sessionId: string, file: string): string | undefined => {
    if (!IMAGE_FILE.test(file)) return undefined
    try {
      const bytes = readWhole(join(toolOutput.dirOf(sessionId), file))
      return `data:${TYPES[file.split('.').at(-1) ?? '']};base64,${bytes.toString('base64')}`
    } catch {
      // Removed to make space; the name of the attachment stays.
      return undefined
    }
  }

  const render = async (wanted: Wanted): Promise<string> => {
    // Few processes ever show one.
    const { sharePage } = await import('../sessions/shares/page.ts')
    const folded = sessions.load(wanted.session_id)
    const { before } = wanted
    const shown =
      before === null
        ? folded.messages
        : folded.messages
            .filter((_, index) => (folded.numbers[index] ?? Infinity) < before)
            .map(message => withoutLater(message, wanted.created_at))
    const sent = new Map(folded.sent.map(({ id, images }) => [id, images ?? []]))
    let left = MAX_PICTURE_BYTES
    const picturesOf = ({ id }: Message): string[] =>
      (sent.get(id) ?? []).flatMap(({ file, bytes }) => {
        if (bytes > left) return []
        left -= bytes
        return dataUrl(folded.id, file) ?? []
      })
    return sharePage({
      ...wanted,
      botName: settings.get().bot_name,
      parts: toSharedParts(redactValue(shown), wanted, { contentText, clean, picturesOf }),
    })
  }

  const kept = new Map<string, { at: number; html: Promise<string> }>()
  const renderOnce = (id: string, wanted: Wanted): Promise<string> => {
    const known = kept.get(id)
    const at = clock.monotonic()
    if (known && at - known.at < REUSE_MS) return known.html
    const html = render(wanted)
    html.catch(() => kept.delete(id))
    kept.delete(id)
    kept.set(id, { at, html })
    const [oldest] = kept.keys()
    if (kept.size > MAX_REUSED && oldest !== undefined) kept.delete(oldest)
    return html
  }

  return {
    shares,
    shareThrottle: openThrottle({ clock }),
    sharedState: id => ({ title: titleOf(id), before: sessions.head(id).nextN }),
    sharePages: {
      preview: (session_id, options) =>
        render({
          ...options,
          session_id,
          before: null,
          title: titleOf(session_id),
          created_at: Math.floor(toSeconds(clock.now())),
          expires_at: null,
        }),
      async open(token, address) {
        const share = shares.find(token)
        if (!share || !homes.has(share.profile) || !sessions.row(share.session_id)) return undefined
        const { live } = share
        const html = await renderOnce(share.id, {
          ...share,
          before: live ? null : share.before,
          title: live ? titleOf(share.session_id) : clean(redact(share.title)),
        })
        if (address !== null) shares.noteOpened(share, address)
        return html
      },
    },
  }
}
