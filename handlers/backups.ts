/** Backups: the folder, the last result, a backup now, and the download of one. */
import { z } from 'zod'
import { recorded } from '../lib/people/audit.ts'
import { endpoint } from '../lib/context.ts'
import { contentDisposition } from '../lib/http/content-disposition.ts'
import { file } from '../lib/http/reply.ts'
import { BackupSettings, BackupState } from '../lib/schema/backup.ts'

export const get = endpoint({
  access: 'own',
  summary: 'Backups: the folder, the last result, and the files',
  output: BackupState,
  cache: 'no-store',
  run: ({ app }) => app.backups.state(),
})

export const save = endpoint({
  access: 'own',
  audit: recorded('settings', () => 'backups dir'),
  summary: 'Change where backups are made',
  input: BackupSettings,
  output: BackupState,
  run: ({ app }, changes) => app.backups.save(changes),
})

export const run = endpoint({
  once: 'disk',
  access: 'own',
  summary: 'Make a backup now; the reply does not wait for it',
  input: z.object({}),
  output: BackupState,
  run: ({ app }) => app.backups.start(),
})

export const download = endpoint({
  access: 'own',
  audit: recorded('settings', ({ name }) => `backups downloaded ${name}`),
  summary: 'One of the backups',
  input: z.object({ name: z.string().max(200) }),
  raw: 'application/zstd',
  cache: 'no-store',
  run: ({ app }, { name }) =>
    file(app.backups.pathOf(name), {
      type: 'application/zstd',
      headers: { 'Content-Disposition': contentDisposition('attachment', name) },
    }),
})
