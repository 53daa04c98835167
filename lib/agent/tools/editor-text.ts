/** Unsaved changes of the person's editor, for the file tools. Only plain UTF-8: an editor sends and takes text, not bytes. */
import { displayText, readTextBytes, type TextBytes } from '../../store/text-bytes.ts'
import { rewriteText } from '../../store/text-rewrite.ts'
import type { ToolContext } from '../types.ts'
import type { TextFile } from './text-file.ts'

const isPlain = ({ encoding, bom }: TextBytes): boolean => encoding === 'UTF-8' && bom === 0

/** The file as it is in the editor; the given object when the editor has no unsaved changes. */
export const withUnsaved = async (
  { turn: { editor } }: ToolContext,
  fullPath: string,
  diskFile: TextFile,
): Promise<TextFile> => {
  if (!editor || !isPlain(diskFile.file)) return diskFile
  const text = await editor.read(fullPath)
  if (text === null) return diskFile
  // Editors have their own line ends; those of the file are kept.
  const bytes = rewriteText(diskFile.file.bytes, text)
  const file = bytes.equals(diskFile.file.bytes) ? null : readTextBytes(bytes)
  return file ? { ...diskFile, file, text: displayText(file), sizeBytes: bytes.length } : diskFile
}

/** Call it after the file was written. */
export const showInEditor = async (
  { turn: { editor } }: ToolContext,
  fullPath: string,
  bytes: Buffer,
): Promise<void> => {
  const file = editor ? readTextBytes(bytes) : null
  if (file && isPlain(file)) await editor?.write(fullPath, file.text)
}
