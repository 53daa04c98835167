/** `agent-webui cells`: the cells that workers run, and who may use them. */
import { clusterUrl } from '../app/cell.ts'
import type { CellEntry } from '../cluster/directory.ts'
import { Directory } from '../cluster/directory.ts'
import type { CellsArguments } from './commands.ts'
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

export const changeCells = async (
  given: CellsArguments,
  { config, terminal }: CommandContext,
): Promise<number> => {
  if (config.cluster === null)
    throw new Error('cells needs AGENT_WEBUI_CLUSTER_URL: the database of the cluster.')
  const directory = new Directory(clusterUrl(config.cluster))
  try {
    if (given.action === 'list') {
      const cells = await directory.list()
      if (given.json) terminal.out(`${JSON.stringify(cells, null, 2)}\n`)
      else for (const cell of cells) terminal.out(`${lineOf(cell)}\n`)
    } else if (given.action === 'add') await directory.add(given.cell, given)
    else if (given.action === 'remove') await directory.remove(given.cell)
    else await directory[given.action](given.cell, given.people)
    return 0
  } finally {
    directory.close()
  }
}
