/** Saving the open document, and the three ways out of a conflict: compare, load from disk, overwrite. */
import { ApiError } from '../../api.ts'
import type { Platform } from '../../platform.ts'
import type { Toasts } from '../shell/toast.ts'
import type { DocState } from './document.ts'
import type { DocLoader } from './load-document.ts'

export type DocSaverOptions = {
  platform: Pick<Platform, 'api'>
  sessionId: string
  toasts: Toasts
  state: DocState
  readText: DocLoader['readText']
  onSaved?: () => void
}

export class DocSaver {
  readonly #options: DocSaverOptions

  constructor(options: DocSaverOptions) {
    this.#options = options
  }

  readonly save = (): Promise<void> => this.#save(this.#options.state.doc.value?.version ?? '')

  /** Replaces the version the conflict was reported for; a newer one is a new conflict. */
  readonly overwrite = (): Promise<void> =>
    this.#save(this.#options.state.doc.value?.conflict ?? '')

  /** Discards the draft. */
  readonly loadFromDisk = async (): Promise<void> => {
    const { doc, patch } = this.#options.state
    const { readText, toasts } = this.#options
    const now = doc.value
    if (!now) return
    try {
      const { content, size, version } = await readText(now)
      const text = content ?? ''
      patch(now, {
        content: text,
        draft: text,
        sizeBytes: size,
        version,
        conflict: null,
        theirs: null,
        generation: now.generation + 1,
      })
    } catch (error) {
      toasts.showError(error)
    }
  }

  /** Shows or hides the text on disk beside the draft. */
  readonly compare = async (): Promise<void> => {
    const { doc, patch } = this.#options.state
    const { readText, toasts } = this.#options
    const now = doc.value
    if (!now) return
    if (now.theirs !== null) return patch(now, { theirs: null })
    try {
      const { content, version } = await readText(now)
      patch(now, { theirs: content ?? '', conflict: version })
    } catch (error) {
      toasts.showError(error)
    }
  }

  async #save(version: string): Promise<void> {
    const { doc, patch } = this.#options.state
    const { platform, sessionId, onSaved, toasts } = this.#options
    const now = doc.value
    if (!now || now.draft === null || now.saving || now.isMoved) return
    const { draft } = now
    patch(now, { saving: true })
    try {
      const reply = await platform.api('POST /api/file/save', {
        session_id: sessionId,
        path: now.path,
        content: draft,
        expected_version: version,
      })
      const saved = { content: draft, version: reply.version, sizeBytes: reply.size }
      patch(now, { ...saved, saving: false, conflict: null, theirs: null })
      onSaved?.()
    } catch (error) {
      patch(now, { saving: false })
      const body = error instanceof ApiError && error.status === 409 ? error.body : null
      if (body?.conflict) patch(now, { conflict: `${body.version ?? ''}` })
      else toasts.showError(error)
    }
  }
}
