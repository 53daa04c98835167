/** Asks language servers about changed files, for the results of write_file and patch. */
import { readTextBytes } from '../../store/text-bytes.ts'
import type { EditDiagnostics } from '../tool-services.ts'
import type { ToolContext } from '../types.ts'

/** Larger files are not checked. */
const MAX_BYTES = 1024 * 1024

type EditedFile = {
  fullPath: string
  /** Null: there was no file. Undefined: it is not known. */
  before: Buffer | null | undefined
  after: Buffer | null
}

/** Undefined: not a text that a language server reads. */
const toText = (bytes: EditedFile['before']): string | null | undefined => {
  if (!bytes) return bytes
  if (bytes.length > MAX_BYTES) return undefined
  const file = readTextBytes(bytes)
  return file?.encoding === 'UTF-8' ? file.text : undefined
}

/** The fields for the result. Call it after the files were written. Never rejects. */
export const checkEdits = async (
  { signal, turn: { checkEdits: check } }: ToolContext,
  changes: readonly EditedFile[],
): Promise<EditDiagnostics> => {
  if (!check) return {}
  const edits = changes.flatMap(({ fullPath, ...bytes }) => {
    const before = toText(bytes.before)
    const after = toText(bytes.after)
    return before === undefined || after === undefined ? [] : [{ fullPath, before, after }]
  })
  return edits.length > 0 ? check(edits, signal) : {}
}
