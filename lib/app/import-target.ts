/** Composition: where an import puts chats and files, for the service and for the command line beside it. */
import { createWriteStream, lstatSync, renameSync, rmSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ImportTarget } from '../sessions/imports/imports.ts'
import { type Project, PROJECT_NAME_CHARS } from '../schema/project.ts'
import { fromExport } from '../sessions/transfer.ts'
import type { FileScope } from '../workspaces/file-scope.ts'
import { type Clock, toSeconds } from '../base/clock.ts'
import { openDirHandle } from '../store/dir-handle.ts'
import { withUserErrorsAsync } from '../store/file-error.ts'

/** `path` is relative to the workspace; its folders are made when missing. False: something is there already, and stays. */
const writeStream = (
  area: FileScope,
  path: string,
  open: () => Promise<Readable>,
): Promise<boolean> =>
  withUserErrorsAsync(async () => {
    using handle = openDirHandle(area, path, { link: true, create: true })
    if (lstatSync(handle.at, { throwIfNoEntry: false })) return false
    const beside = handle.temporary()
    try {
      await pipeline(await open(), createWriteStream(beside, { flags: 'wx', flush: true }))
      renameSync(beside, handle.at)
      handle.sync()
      return true
    } finally {
      rmSync(beside, { force: true })
    }
  })

export const importTarget = (
  options: Pick<ImportTarget, 'profile' | 'workspace' | 'find' | 'write'> & {
    area: () => FileScope
    /** Null for those who are no owner: they may not see or make projects. */
    projects: {
      list: () => readonly Project[]
      create: (input: { name: string }) => Project
    } | null
    clock: Clock
  },
): ImportTarget => {
  const { profile, workspace, find, write, area, projects, clock } = options
  return {
    ...{ profile, workspace, find, write },
    fromExport(value) {
      const chat = fromExport(value)
      // A member does not choose tools that the profile does not have.
      if (projects === null) delete chat.meta.enabled_toolsets
      return chat
    },
    now: () => Math.floor(toSeconds(clock.now())),
    store: (path, open) => writeStream(area(), path, open),
    project(input) {
      const name = [...input.trim()].slice(0, PROJECT_NAME_CHARS).join('')
      if (projects === null || name === '') return null
      const existing = projects.list().find(project => project.name === name)
      return (existing ?? projects.create({ name })).project_id
    },
  }
}
