/** The page that a share link shows. */
import { join } from 'node:path'
import { type Clock, toSeconds } from '../../base/clock.ts'
import { redact, redactValue } from '../../base/redact/redact.ts'
import type { Config } from '../../config.ts'
import type { Homes } from '../../profiles/homes.ts'
import type { SettingsStore } from '../../profiles/settings.ts'
import { IMAGE_FILE } from '../../schema/image.ts'
import type { Message } from '../../schema/message.ts'
import type { ShareOptions } from '../../schema/share.ts'
import { readWhole } from '../../store/read-text.ts'
import { contentText } from '../entries.ts'
import { UNTITLED } from '../list-row.ts'
import type { ToolOutput } from '../tool-output.ts'
import type { Sessions } from '../sessions.ts'
import { hidePaths, toSharedParts } from './shared-chat.ts'
import type { Shares } from './shares.ts'

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

/** What a page shows of a chat. */
type PageOptions = ShareOptions & {
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

export class SharePages {
  readonly #shares: Shares
  readonly #sessions: Sessions
  readonly #homes: Homes
  readonly #settings: SettingsStore
  readonly #toolOutput: ToolOutput
  readonly #clock: Clock
  readonly #hide: (text: string) => string
  readonly #recent = new Map<string, { at: number; html: Promise<string> }>()

  constructor(
    shares: Shares,
    data: {
      config: Config
      sessions: Sessions
      homes: Homes
      settings: SettingsStore
      toolOutput: ToolOutput
      clock: Clock
    },
  ) {
    const { userHome, baseHome, agentHome, stateDir } = data.config
    this.#shares = shares
    this.#sessions = data.sessions
    this.#homes = data.homes
    this.#settings = data.settings
    this.#toolOutput = data.toolOutput
    this.#clock = data.clock
    this.#hide = hidePaths([userHome, baseHome, agentHome, stateDir])
  }

  /** The title of a chat as a link shows it, and the position up to which a new link shows it. */
  state(sessionId: string): { title: string; before: number } {
    return { title: this.#chatTitle(sessionId), before: this.#sessions.head(sessionId).nextN }
  }

  /** What a link that is made now will show. */
  preview(sessionId: string, options: ShareOptions): Promise<string> {
    return this.#render({
      ...options,
      session_id: sessionId,
      before: null,
      title: this.#chatTitle(sessionId),
      created_at: Math.floor(toSeconds(this.#clock.now())),
      expires_at: null,
    })
  }

  /** Undefined: unknown, revoked, expired, off, or its chat or profile is deleted. All of these look the same. */
  async open(token: string, address: string | null): Promise<string | undefined> {
    const share = this.#shares.find(token)
    if (!share || !this.#homes.has(share.profile) || !this.#sessions.row(share.session_id))
      return undefined
    const { live } = share
    const html = await this.#renderOnce(share.id, {
      ...share,
      before: live ? null : share.before,
      title: live ? this.#chatTitle(share.session_id) : this.#hide(redact(share.title)),
    })
    if (address !== null) this.#shares.noteOpened(share, address)
    return html
  }

  #chatTitle(sessionId: string): string {
    const { title } = this.#sessions.require(sessionId)
    return this.#hide(redact(title || UNTITLED).replace(/\s+/g, ' '))
  }

  #dataUrl(sessionId: string, file: string): string | undefined {
    if (!IMAGE_FILE.test(file)) return undefined
    try {
      const bytes = readWhole(join(this.#toolOutput.dirOf(sessionId), file))
      return `data:${TYPES[file.split('.').at(-1) ?? '']};base64,${bytes.toString('base64')}`
    } catch {
      // Removed to make space; the name of the attachment stays.
      return undefined
    }
  }

  async #render(options: PageOptions): Promise<string> {
    // Few processes ever show one.
    const { sharePage } = await import('./page.ts')
    const folded = this.#sessions.load(options.session_id)
    const { before } = options
    const messages =
      before === null
        ? folded.messages
        : folded.messages
            .filter((_, index) => (folded.numbers[index] ?? Infinity) < before)
            .map(message => withoutLater(message, options.created_at))
    const sent = new Map(folded.sent.map(({ id, images }) => [id, images ?? []]))
    let bytesLeft = MAX_PICTURE_BYTES
    const picturesOf = ({ id }: Message): string[] =>
      (sent.get(id) ?? []).flatMap(({ file, bytes }) => {
        if (bytes > bytesLeft) return []
        bytesLeft -= bytes
        return this.#dataUrl(folded.id, file) ?? []
      })
    return sharePage({
      ...options,
      botName: this.#settings.get().bot_name,
      parts: toSharedParts(redactValue(messages), options, {
        contentText,
        clean: text => this.#hide(text),
        picturesOf,
      }),
    })
  }

  #renderOnce(id: string, options: PageOptions): Promise<string> {
    const recent = this.#recent.get(id)
    const at = this.#clock.monotonic()
    if (recent && at - recent.at < REUSE_MS) return recent.html
    const html = this.#render(options)
    html.catch(() => this.#recent.delete(id))
    this.#recent.delete(id)
    this.#recent.set(id, { at, html })
    const [oldest] = this.#recent.keys()
    if (this.#recent.size > MAX_REUSED && oldest !== undefined) this.#recent.delete(oldest)
    return html
  }
}
