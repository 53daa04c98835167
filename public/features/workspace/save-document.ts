/** Saving the open document, and the three ways out of a conflict: compare, load from disk, overwrite. */
import { ApiError } from '../../api.ts'
import type { Shell } from '../shell/shell-state.ts'
import type { OpenFile } from './open-file.ts'

export class DocSaver {
  readonly #shell: Shell
  readonly #sessionId: string
  readonly #file: OpenFile
  readonly #onSaved: () => void

  constructor(shell: Shell, sessionId: string, file: OpenFile, onSaved: () => void) {
    this.#shell = shell
    this.#sessionId = sessionId
    this.#file = file
    this.#onSaved = onSaved
  }

  readonly save = (): Promise<void> => this.#save(this.#file.doc.value?.version ?? '')

  /** Replaces the version the conflict was reported for; a newer one is a new conflict. */
  readonly overwrite = (): Promise<void> => this.#save(this.#file.doc.value?.conflict ?? '')

  /** Discards the draft. */
  readonly loadFromDisk = async (): Promise<void> => {
    const file = this.#file
    const now = file.doc.value
    if (!now) return
    try {
      const { content, size, version } = await file.readText(now)
      const text = content ?? ''
      file.patch(now, {
        content: text,
        draft: text,
        sizeBytes: size,
        version,
        conflict: null,
        theirs: null,
        generation: now.generation + 1,
      })
    } catch (error) {
      this.#shell.toasts.showError(error)
    }
  }

  /** Shows or hides the text on disk beside the draft. */
  readonly compare = async (): Promise<void> => {
    const file = this.#file
    const now = file.doc.value
    if (!now) return
    if (now.theirs !== null) return file.patch(now, { theirs: null })
    try {
      const { content, version } = await file.readText(now)
      file.patch(now, { theirs: content ?? '', conflict: version })
    } catch (error) {
      this.#shell.toasts.showError(error)
    }
  }

  async #save(version: string): Promise<void> {
    const { api, toasts } = this.#shell
    const file = this.#file
    const now = file.doc.value
    if (!now || now.draft === null || now.saving || now.isMoved) return
    const { draft } = now
    file.patch(now, { saving: true })
    try {
      const reply = await api('POST /api/file/save', {
        session_id: this.#sessionId,
        path: now.path,
        content: draft,
        expected_version: version,
      })
      const next = { content: draft, version: reply.version, sizeBytes: reply.size }
      file.patch(now, { ...next, saving: false, conflict: null, theirs: null })
      this.#onSaved()
    } catch (error) {
      file.patch(now, { saving: false })
      const body = error instanceof ApiError && error.status === 409 ? error.body : null
      if (body?.conflict) file.patch(now, { conflict: `${body.version ?? ''}` })
      else toasts.showError(error)
    }
  }
}
