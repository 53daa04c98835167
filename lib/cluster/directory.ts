/** The database of a cluster as those see it that own no cell: forwarders and the command line. */
import { type Database, createReader } from './database.ts'
import { createMembers } from './members.ts'
import { isMigrated, migrate } from './migrations.ts'
import { createPlacement } from './placement.ts'

/** The tables may be older than this program, or newer: then the program knows enough of them. */
const prepare = async (db: Database): Promise<void> => {
  if (!(await isMigrated(db))) await migrate(db)
}

export const openDirectory = (url: string) => {
  const reader = createReader(url, prepare)
  return { ...createPlacement(reader), ...createMembers(reader), close: () => reader.close() }
}

export type Directory = ReturnType<typeof openDirectory>
