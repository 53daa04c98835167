/** `agent-webui cells`: the cells that workers run, and who may use them. */
import { resolve } from 'node:path'
import { clusterUrl, readClusterKey } from '../app/cell.ts'
import { systemClock } from '../base/clock.ts'
import { databaseProblem, isOfDatabase } from '../cluster/database.ts'
import { type CellEntry, Directory, type WorkerEntry } from '../cluster/directory.ts'
import type { CellsArguments } from './cli.ts'
import type { CommandContext } from './run.ts'

const stateOf = ({ isManaged, isAwake, isStarting, worker, wakeAt }: CellEntry): string => {
  if (isAwake) return isManaged && worker !== null ? `runs on ${worker}` : 'runs'
  if (isStarting) return `starts on ${worker}`
  if (!isManaged) return 'not run by workers'
  return wakeAt === null ? 'sleeps' : `sleeps until ${new Date(wakeAt).toISOString()}`
}

const lineOf = (cell: CellEntry): string =>
  [
    cell.name,
    cell.title,
    stateOf(cell),
    cell.people.join(', ') || 'no one',
    ...(cell.labels.length > 0 ? [`labels: ${cell.labels.join(', ')}`] : []),
  ]
    .filter(part => part !== '')
    .join('  ')

/** The database of the cluster, for one change. */
const withDirectory = async (
  { config: { cluster }, terminal }: CommandContext,
  work: (directory: Directory, print: (text: string) => void) => Promise<void>,
): Promise<number> => {
  if (cluster === null)
    throw new Error('This needs AGENT_WEBUI_CLUSTER_URL: the database of the cluster.')
  const directory = new Directory(clusterUrl(cluster))
  try {
    await work(directory, text => terminal.out(`${text}\n`))
    return 0
  } catch (error) {
    throw isOfDatabase(error) ? new Error(`${databaseProblem(error)}.`) : error
  } finally {
    directory.close()
  }
}

/** A label that no worker has may be a mistake, or that of one that is added later. */
const sayUnfit = async (
  labels: readonly string[],
  directory: Directory,
  { terminal }: CommandContext,
): Promise<void> => {
  if (labels.length === 0) return
  const has = (worker: WorkerEntry): boolean =>
    labels.every(label => label === worker.name || worker.labels.includes(label))
  if (!(await directory.workers()).some(has))
    terminal.note(`No worker has ${labels.join(' and ')} now; the cell waits for one.\n`)
}

const transfer = async (
  args: Extract<CellsArguments, { action: 'export' | 'import' }>,
  directory: Directory,
  { config, terminal }: CommandContext,
): Promise<void> => {
  const { cluster } = config
  const key = cluster && readClusterKey(cluster)
  if (!cluster || key === null)
    throw new Error(
      'The files of cells on volumes are on the volumes: copy those. This is for AGENT_WEBUI_CLUSTER_FILES=mirror.',
    )
  const { exportCell, importCell } = await import('../cluster/transfer.ts')
  const print = (text: string): void => terminal.note(`${text}\n`)
  const options = {
    ...{ config, key, url: clusterUrl(cluster), clock: systemClock },
    ...{ dir: resolve(args.dir), log: { info: print, warn: print } },
  }
  if (args.action === 'export') return exportCell(args.cell, options)
  await directory.requireNew(args.cell)
  await importCell(args.cell, options)
  await directory.add(args.cell, { ...args, keepsFiles: true })
}

export const changeCells = (args: CellsArguments, context: CommandContext): Promise<number> =>
  withDirectory(context, async (directory, print) => {
    if (args.action === 'list') {
      const cells = await directory.list()
      if (args.json) print(JSON.stringify(cells, null, 2))
      else for (const cell of cells) print(lineOf(cell))
    } else if (args.action === 'add' || args.action === 'change') {
      if (args.action === 'add') await directory.add(args.cell, args)
      else await directory.change(args.cell, args)
      await sayUnfit(args.labels ?? [], directory, context)
    } else if (args.action === 'move') await directory.move(args.cell, args.worker)
    else if (args.action === 'export' || args.action === 'import')
      await transfer(args, directory, context)
    else if (args.action === 'remove') await directory.remove(args.cell, args.purges)
    else await directory[args.action](args.cell, args.people)
  })

const workerLine = ({ name, address, used, capacity, labels, isDraining }: WorkerEntry): string =>
  [
    name,
    address,
    `runs ${used} of ${capacity}${isDraining ? ', drains' : ''}`,
    ...(labels.length > 0 ? [`labels: ${labels.join(', ')}`] : []),
  ].join('  ')

/** Lists the workers, or takes one out of service or back. */
export const changeWorkers = (
  { worker, isDraining, json }: { worker: string | null; isDraining: boolean; json: boolean },
  context: CommandContext,
): Promise<number> =>
  withDirectory(context, async (directory, print) => {
    if (worker !== null) return directory.drain(worker, isDraining)
    const workers = await directory.workers()
    if (json) print(JSON.stringify(workers, null, 2))
    else for (const each of workers) print(workerLine(each))
  })
