/** Composition: imports of chats from other programs. */
import { join } from 'node:path'
import { createImportJobs, type ImportJobs } from '../sessions/imports/import-jobs.ts'
import type { ImportTarget } from '../sessions/imports/imports.ts'
import type { Home } from '../profiles/home.ts'
import type { SessionFiles } from '../workspaces/session-files.ts'
import type { Composition } from './data.ts'
import { importTarget } from './import-target.ts'

export type ImportServices = {
  imports: ImportJobs
  importInto: (home: Home, workspace: string, isOwner: boolean) => ImportTarget
}

export const composeImports = (
  { config, log, clock, data }: Composition,
  files: SessionFiles,
): ImportServices => {
  const { sessions, projects } = data
  return {
    imports: createImportJobs({ path: join(config.stateDir, 'imports.json'), log, clock }),
    importInto: (home, workspace, isOwner) =>
      importTarget({
        profile: home.name,
        workspace,
        find: sessions.imported,
        write: sessions.writeImported,
        area: () => files.areas.scopeFor(home, workspace),
        projects: isOwner ? projects : null,
        clock,
      }),
  }
}
