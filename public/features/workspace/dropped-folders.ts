/** Folders dropped on the page: their files, uploaded one by one into folders of the same names. */
import { formatBytes } from '../../parts/file-kind.ts'
import type { DroppedFolder } from '../../upload-queue.ts'
import { t } from './strings.ts'

/** Per drop. */
export const MAX_FILES = 500

type FolderFile = { file: File; folder: string }
type Budget = { files: number; cut: boolean; large: number; git: boolean }

/** `readEntries` returns batches, and an empty one at the end. */
const entriesOf = async (directory: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> => {
  const reader = directory.createReader()
  const all: FileSystemEntry[] = []
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    )
    if (some.length === 0) return all.sort((a, b) => (a.name < b.name ? -1 : 1))
    all.push(...some)
  }
}

const walk = async (
  directory: FileSystemDirectoryEntry,
  folder: string,
  budget: Budget,
  maxBytes: number,
): Promise<FolderFile[]> => {
  const parts: FolderFile[] = []
  for (const entry of await entriesOf(directory)) {
    if (budget.cut) break
    // The server rejects it: git runs hooks from this directory.
    if (entry.name.toLowerCase() === '.git') {
      budget.git = true
      continue
    }
    if (entry.isDirectory) {
      const below = `${folder}/${entry.name}`
      parts.push(...(await walk(entry as FileSystemDirectoryEntry, below, budget, maxBytes)))
      continue
    }
    const file = await new Promise<File>((resolve, reject) =>
      (entry as FileSystemFileEntry).file(resolve, reject),
    )
    if (file.size > maxBytes) budget.large += 1
    else if (budget.files === MAX_FILES) budget.cut = true
    else {
      budget.files += 1
      parts.push({ file, folder })
    }
  }
  return parts
}

/** Uploaded files are removed from `parts`, so that a retry continues where it failed. */
const toFolder = (name: string, parts: FolderFile[]): DroppedFolder => {
  const sizeBytes = parts.reduce((sum, { file }) => sum + file.size, 0)
  let arrivedBytes = 0
  return {
    name,
    sizeBytes,
    async send(upload, { directory = '', onProgress, ...options }) {
      for (let part = parts[0]; part; part = parts[0]) {
        const { file, folder } = part
        await upload({
          ...options,
          file,
          name: file.name,
          directory: directory ? `${directory}/${folder}` : folder,
          onProgress: sentBytes => onProgress?.(arrivedBytes + sentBytes),
        })
        parts.shift()
        arrivedBytes += file.size
      }
      return { filename: `${name}/`, path: '', size: sizeBytes }
    },
  }
}

/** The folders to upload, and messages about what was skipped. */
export const readFolders = async (
  directories: readonly FileSystemDirectoryEntry[],
  maxBytes: number,
): Promise<{ folders: DroppedFolder[]; messages: string[] }> => {
  const budget: Budget = { files: 0, cut: false, large: 0, git: false }
  const folders: DroppedFolder[] = []
  const messages: string[] = []
  for (const directory of directories) {
    const { name } = directory
    const before = budget.large
    const parts = await walk(directory, name, budget, maxBytes)
    if (parts.length > 0) folders.push(toFolder(name, parts))
    else if (budget.large === before && !budget.cut)
      messages.push(t('files.folder.empty', { name }))
  }
  if (budget.cut) messages.push(t('files.folder.cut', { count: MAX_FILES }))
  if (budget.large > 0) {
    messages.push(t('files.folder.large', { count: budget.large, max: formatBytes(maxBytes) }))
  }
  if (budget.git) messages.push(t('files.folder.git'))
  return { folders, messages }
}
