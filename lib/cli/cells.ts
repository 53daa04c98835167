/** `agent-webui cells`: the cells that workers run, and who may use them. */
import { clusterUrl } from '../app/cell.ts'
import { databaseProblem, sqlState } from '../cluster/database.ts'
import { type CellEntry, Directory, type WorkerEntry } from '../cluster/directory.ts'
import type { CellsArguments } from './cli.ts'
import type { CommandContext } from './run.ts'

const stateOf = ({ isManaged, isAwake, worker, wakeAt }: CellEntry): string => {
  if (isAwake) return isManaged && worker !== null ? `runs on ${worker}` : 'runs'
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
    throw sqlState(error) === '' ? error : new Error(`${databaseProblem(error)}.`)
  } finally {
    directory.close()
  }
}

export const changeCells = (given: CellsArguments, context: CommandContext): Promise<number> =>
  withDirectory(context, async (directory, print) => {
    if (given.action === 'list') {
      const cells = await directory.list()
      if (given.json) print(JSON.stringify(cells, null, 2))
      else for (const cell of cells) print(lineOf(cell))
    } else if (given.action === 'add') await directory.add(given.cell, given)
    else if (given.action === 'change') await directory.change(given.cell, given)
    else if (given.action === 'move') await directory.move(given.cell, given.worker)
    else if (given.action === 'remove') await directory.remove(given.cell, given.purges)
    else await directory[given.action](given.cell, given.people)
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
