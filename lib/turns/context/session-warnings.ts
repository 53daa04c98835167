/** Warnings of turns that are shown once per session, and again when they change. */
import { changeWords, withCodes, type Words } from '../../base/sentences.ts'
import { redact } from '../../base/redact/redact.ts'
import type { Turn } from '../turn.ts'

/** How many sessions we remember warnings for. */
const MAX_SESSIONS = 200

export class SessionWarnings {
  readonly #type: string
  readonly #onWarning: ((message: string) => void) | undefined
  readonly #texts = new Map<string, string>()

  /** `type` is that of the event. `onWarning` receives the warnings where the turn's log is not shown. */
  constructor(type: string, onWarning?: (message: string) => void) {
    this.#type = type
    this.#onWarning = onWarning
  }

  show({ sessionId, over, log }: Turn, warnings: readonly Words[]): void {
    const text = warnings.join('\n')
    if (text === (this.#texts.get(sessionId) ?? '') || over) return
    this.#texts.delete(sessionId)
    if (text !== '') this.#texts.set(sessionId, text)
    for (const warning of warnings) {
      const message = changeWords(warning, redact)
      log.append({ type: 'warning', data: withCodes({ message, type: this.#type }) })
      this.#onWarning?.(`${message}`)
    }
    const [oldest] = this.#texts.keys()
    if (this.#texts.size > MAX_SESSIONS && oldest !== undefined) this.#texts.delete(oldest)
  }
}
