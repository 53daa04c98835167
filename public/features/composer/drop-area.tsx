/** Dropping files and folders on the page. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import type { App } from '../../app.ts'
import type { DroppedFolder } from '../../upload-queue.ts'
import { MAX_UPLOAD_BYTES } from '../../../lib/base/attachment-limits.ts'
import { t } from '../../strings/t.ts'
import { useApp } from '../shell/context.ts'

type Dropped = { files: File[]; directories: FileSystemDirectoryEntry[] }

/** Reads the dropped items synchronously, because the browser clears them after the event. A folder also appears as an unreadable file. */
export const dropped = (data: DataTransfer | null): Dropped => {
  const items = [...(data?.items ?? [])].filter(({ kind }) => kind === 'file')
  const result: Dropped = { files: items.length ? [] : [...(data?.files ?? [])], directories: [] }
  for (const item of items) {
    const entry = item.webkitGetAsEntry?.()
    const file = item.getAsFile()
    if (entry?.isDirectory) result.directories.push(entry as FileSystemDirectoryEntry)
    else if (file) result.files.push(file)
  }
  return result
}

/** Shows a toast for each folder that can't be attached. */
export const addDroppedFolders = (
  { shell: { toasts } }: App,
  directories: readonly FileSystemDirectoryEntry[],
  take: (folders: readonly DroppedFolder[]) => unknown,
): void => {
  if (directories.length === 0) return
  void import('../workspace/dropped-folders.ts')
    .then(({ readFolders }) => readFolders(directories, MAX_UPLOAD_BYTES))
    .then(({ folders, messages }) => {
      take(folders)
      for (const message of messages) toasts.show(message, { kind: 'error' })
    })
    .catch(toasts.showError)
}

const carriesFiles = (event: DragEvent): boolean =>
  event.dataTransfer?.types.includes('Files') ?? false
/** The workspace panel handles its own drops. */
const isElsewhere = (event: DragEvent): boolean =>
  (event.target as Element | null)?.closest?.('.panel') !== null

/** Drops that a drop area has seen: of two, only one takes it. */
const seen = new WeakSet<Event>()

/** Of two chats side by side, the one under the pointer, or the active one when it is beside both. Null for a single chat. */
const sideAt = (element: Element | null): Element | null =>
  element?.closest('.side') ?? document.querySelector('.side-active')

/** Listens on the whole page, because the browser would navigate to a file dropped outside the composer. */
export const DropArea = () => {
  const app = useApp()
  const { attachments } = app.composer
  const { layout } = app.shell
  const over = useSignal(false)
  useEffect(() => {
    const isHere = (event: DragEvent): boolean =>
      sideAt(event.target as Element | null) === sideAt(document.getElementById(layout.composerId))
    // Enter and leave events are paired for each element: the pointer is outside when the counts are equal.
    let depth = 0
    const enter = (event: DragEvent) => {
      if (!carriesFiles(event)) return
      depth += 1
      over.value = isHere(event) && !isElsewhere(event)
    }
    const leave = (event: DragEvent) => {
      if (!carriesFiles(event)) return
      depth -= 1
      if (depth <= 0) over.value = false
    }
    const move = (event: DragEvent) => {
      if (!carriesFiles(event)) return
      event.preventDefault()
      over.value = isHere(event) && !isElsewhere(event)
    }
    const drop = (event: DragEvent) => {
      depth = 0
      over.value = false
      const isTaken = event.defaultPrevented && !seen.has(event)
      if (!carriesFiles(event) || isTaken) return
      seen.add(event)
      event.preventDefault()
      if (!isHere(event)) return
      const { files, directories } = dropped(event.dataTransfer)
      attachments.add(files)
      addDroppedFolders(app, directories, attachments.add)
    }
    const all = { dragenter: enter, dragleave: leave, dragover: move, drop }
    for (const [type, listener] of Object.entries(all)) {
      document.addEventListener(type, listener as EventListener)
    }
    return () => {
      for (const [type, listener] of Object.entries(all)) {
        document.removeEventListener(type, listener as EventListener)
      }
    }
  }, [attachments])
  if (!over.value) return null
  return (
    <div class="drop-area" aria-hidden="true">
      <Icon name="paperclip" size={20} />
      <span>{t('attach.drop')}</span>
    </div>
  )
}
