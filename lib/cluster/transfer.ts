/** A cell as a directory: `cells export` writes what the database has of it, `cells import` makes one of a directory of that shape. */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../config.ts'
import { conflict, missing } from '../errors.ts'
import { bringUp } from './bring-up.ts'
import { CellFileRules } from './cell-files.ts'
import { connect } from './database.ts'
import { requireKnownTables } from './migrations.ts'
import { Mirror } from './mirror.ts'
import { PostgresCluster, type PostgresOptions } from './postgres.ts'
import { Sealer } from './seal.ts'

/** Everything must be sent within this time. A large directory over a slow line takes long. */
const IMPORT_MS = 3_600_000

export type Transfer = Omit<PostgresOptions, 'key'> & {
  key: string
  config: Config
  clock: Clock
  /** Of the directory: `home`, `state`, and `workspace` are in it, as in that of a worker. */
  dir: string
}

/** The rules for a cell of a worker, whose directory this is. */
const filesOf = ({ config, dir }: Transfer): CellFileRules =>
  new CellFileRules({
    ...config,
    stateDir: join(dir, 'state'),
    baseHome: join(dir, 'home'),
    userHome: dir,
    defaultWorkspace: join(dir, 'workspace'),
    cluster: config.cluster && { ...config.cluster, runBy: 'transfer' },
  })

/** As of one moment, also while the cell runs. Throws when the directory has something, or the database nothing of the cell. */
export const exportCell = async (cell: string, transfer: Transfer): Promise<void> => {
  const { url, key, clock, dir, log } = transfer
  if (existsSync(dir) && readdirSync(dir).length > 0) throw conflict(`${dir} is not empty.`)
  const db = await connect(url)
  try {
    await requireKnownTables(db)
    await db.query('begin transaction isolation level repeatable read, read only', [])
    const [row] = await db.query(
      'select count(*) as files from agent_webui.file where cell = $1 and not is_gone',
      [cell],
    )
    if (Number(row?.files) === 0) throw missing(`The database has no files of a cell "${cell}".`)
    const [files, sealer] = [filesOf(transfer), new Sealer(key, cell)]
    for (const name of ['home', 'state', 'workspace'])
      mkdirSync(join(dir, name), { recursive: true, mode: 0o700 })
    const mirror = new Mirror(files, { sealer, warn: log.warn })
    const stateDir = join(dir, 'state')
    await bringUp({
      ...{ db, cell, files, stateDir, sealer, mirror, note: null },
      ...{ now: clock.now(), warn: log.warn },
    })
  } finally {
    db.end()
  }
}

/** The cell has no files so far. Afterward a worker that starts it has those of the directory. */
export const importCell = async (cell: string, transfer: Transfer): Promise<void> => {
  const { dir } = transfer
  const stateDir = join(dir, 'state')
  if (!existsSync(stateDir) || !existsSync(join(dir, 'home')))
    throw missing(`${dir} has no state and home, as cells export writes them.`)
  // That of the cell that it was: this one is another.
  rmSync(join(stateDir, 'cluster.json'), { force: true })
  const owned = await new PostgresCluster(transfer).own(cell, {
    files: filesOf(transfer),
    stateDir,
  })
  await owned.release(IMPORT_MS)
  rmSync(join(stateDir, 'cluster.json'), { force: true })
}
