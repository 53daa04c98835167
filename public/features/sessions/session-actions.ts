/** What a menu offers for one session. Each shows its error. Their code (`late-session-actions.ts`) is loaded when one is first called. */
import type { Transcript } from '../messages/transcript.ts'
import type { Shell } from '../shell/shell-state.ts'
import type { Sessions } from './sessions.ts'

export type SessionActionsOptions = {
  shell: Shell
  sessions: Sessions
  chat: Transcript
  /** The chat of this menu is shown, and is of this session. */
  isOpen: (id: string) => boolean
  /** Opens a session after a request, unless the person has gone elsewhere. */
  follow: (id: string) => void
  newChat: () => void
}

export type ExportFormat = 'md' | 'json' | 'html'

export class SessionActions {
  readonly #options: SessionActionsOptions

  constructor(options: SessionActionsOptions) {
    this.#options = options
  }

  /** Copies a session, up to and including `messageId` when one is given, and opens the copy. */
  branch(id: string, messageId?: string): Promise<void> {
    return this.#run(late => late.branch(this.#options, id, messageId))
  }

  duplicate(id: string): Promise<void> {
    return this.#run(late => late.duplicate(this.#options, id))
  }

  archive(id: string, archived: boolean): Promise<void> {
    return this.#run(late => late.archive(this.#options, id, archived))
  }

  remove(id: string): Promise<void> {
    return this.#run(late => late.remove(this.#options, id))
  }

  confirmDeletePermanently(id: string): Promise<void> {
    return this.#run(late => late.confirmDeletePermanently(this.#options, id))
  }

  confirmClear(id: string): Promise<void> {
    return this.#run(late => late.confirmClear(this.#options, id))
  }

  exportAs(id: string, format: ExportFormat): Promise<void> {
    return this.#run(late => late.exportAs(this.#options, id, format))
  }

  /** Imports a session exported as JSON, by this program or a compatible one. */
  importFile(file: File): Promise<void> {
    return this.#run(late => late.importFile(this.#options, file))
  }

  #run(act: (late: typeof import('./late-session-actions.ts')) => unknown): Promise<void> {
    return this.#options.shell.attempt(async () => act(await import('./late-session-actions.ts')))
  }
}
