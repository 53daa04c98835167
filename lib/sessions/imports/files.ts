/** The files of a chat: which of them the export has, and where each goes in the workspace. */
import { Readable } from 'node:stream'
import type { FileRef, LeaveOut } from './conversation.ts'
import type { ExportFile } from './export-file.ts'

const MAX_FILE_BYTES = 512 * 1024 * 1024
/** File systems allow 255. */
const MAX_STEM_BYTES = 180

/** `open` may be called again for another try. */
export type PlannedFile = { path: string; open: () => Promise<Readable> }

/** Letters and digits of any script, `_`, `.` and `-` of the last part of a path. */
const safeName = (given: string): string => {
  const name = (given.split(/[/\\]/).at(-1) ?? '')
    .toWellFormed()
    .normalize('NFC')
    .replace(/[^\p{L}\p{M}\p{N}_.-]/gu, '_')
    .replace(/^\.+/, '')
  const ending = /(?<=.)\.[\p{L}\p{N}]{1,12}$/u.exec(name)?.[0] ?? ''
  const stem = Buffer.from(name.slice(0, name.length - ending.length))
    .subarray(0, MAX_STEM_BYTES)
    .toString()
    .replace(/\ufffd$/, '')
  // The agent takes such files of a folder in which it works for instructions.
  const isInstructions = /^(?:agents?|claude|gemini|hermes|soul)\.md$/i.test(name)
  return `${isInstructions ? 'file-' : ''}${stem}${ending}` || 'file'
}

/** Without the id that the archive puts before it: `photo.png` of `file-AbC-photo.png`. */
const nameIn = (name: string, id: string | undefined): string =>
  id !== undefined && name.startsWith(`${id}-`) ? name.slice(id.length + 1) : name

export const planFiles = (
  sessionId: string,
  exported: Pick<ExportFile, 'find'>,
  leaveOut: LeaveOut,
) => {
  const planned: PlannedFile[] = []
  const known = new Map<unknown, string | null>()
  const taken = new Set<string>()

  const plan = ({ name, id, data, isImage }: FileRef): string | null => {
    const found = data ? undefined : exported.find(name, id)
    if (!data && !found) {
      leaveOut('file_missing', name)
      return null
    }
    if ((found?.size ?? 0) > MAX_FILE_BYTES) {
      leaveOut('file_too_large', name)
      return null
    }
    // A reference without a name has that of the file.
    const isNamed = name !== id && /\.\w+$/.test(name)
    const given = safeName(found && !isNamed ? nameIn(found.name, id) : name)
    const own = isImage ? given.replace(/\.dat$|(?<!\.\w+)$/i, '.png') : given
    const dot = own.lastIndexOf('.')
    const [stem, ending] = dot > 0 ? [own.slice(0, dot), own.slice(dot)] : [own, '']
    let free = own
    for (let n = 2; taken.has(free.toLowerCase()); n++) free = `${stem}-${n}${ending}`
    taken.add(free.toLowerCase())
    const path = `imported-files/${sessionId}/${free}`
    planned.push({ path, open: found ? found.open : async () => Readable.from([data]) })
    return path
  }

  return {
    planned,
    pathOf(ref: FileRef): string | null {
      const key = ref.data ?? ref.id ?? ref.name
      if (!known.has(key)) known.set(key, plan(ref))
      return known.get(key) ?? null
    },
  }
}
