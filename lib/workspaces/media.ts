/** Serves raw files: of a workspace by relative path, and media from a few allowed folders by absolute path. */
import { closeSync, constants } from 'node:fs'
import { basename, isAbsolute, join } from 'node:path'
import { forbidden, missing } from '../errors.ts'
import { type OpenFile, openFile } from '../http/file.ts'
import { withUserErrors, withUserErrorsAsync } from '../store/file-error.ts'
import { openDirHandle, openEntry } from '../store/dir-handle.ts'
import { isInside, realPath } from '../store/path-within.ts'
import { type FileScope, isSecretName, fileScope } from './file-scope.ts'
import { realDirectory } from './workspace-paths.ts'

export type RawFile = {
  /** As it is called on the disk. */
  name: string
  open: () => Promise<OpenFile>
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants

/** Checked now for its name, and once more when it is opened: the answer may begin later. */
export const rawFile = (area: FileScope, path: string): RawFile => {
  const name = withUserErrors(() => {
    using handle = openDirHandle(area, path)
    return basename(handle.full)
  })
  const open = () =>
    withUserErrorsAsync(async () => {
      using handle = openDirHandle(area, path)
      if (!handle.isAnchored) closeSync(openEntry(handle))
      return await openFile(handle.at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    })
  return { name, open }
}

/** Folders of an agent's home that hold nothing but what it made to be looked at. */
const HOME_FOLDERS = [
  'cache',
  'images',
  'image_cache',
  'audio_cache',
  'document_cache',
  'browser_screenshots',
  'browser_recordings',
]

const notAllowed = () => forbidden('Path not in allowed location', { code: 'path_not_allowed' })

/** An absolute path in the workspace, in one of those folders, or in /tmp; secrets nowhere. */
export const mediaFile = (
  workspace: FileScope,
  homeDir: string,
  path: string,
  {
    outputDir,
    hasTmp,
  }: {
    /** Long results of tools, in the service's own state. */
    outputDir: string | undefined
    /** /tmp has files of all profiles and programs. */
    hasTmp: boolean
  },
): RawFile => {
  if (!isAbsolute(path) || path.includes('\0')) throw notAllowed()
  if (outputDir !== undefined && realDirectory(outputDir) && isInside(outputDir, path))
    return rawFile(fileScope(outputDir), realPath(path))
  const folders = HOME_FOLDERS.map(name => join(homeDir, name))
  const roots = [workspace.root, ...folders, ...(hasTmp ? ['/tmp'] : [])].flatMap(
    root => realDirectory(root) ?? [],
  )
  const real = realPath(path)
  const root = roots.find(place => isInside(place, real))
  if (root === undefined || isSecretName(basename(real)) || workspace.isHidden(real))
    throw notAllowed()
  try {
    return rawFile({ ...fileScope(root), isHidden: workspace.isHidden }, real)
  } catch (error) {
    if (error instanceof Error && /not found$/i.test(error.message)) throw missing('not found')
    throw error
  }
}
