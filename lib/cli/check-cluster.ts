/** Checks of the database of a cluster. Nothing of it is loaded where none is configured. */
import { clusterUrl, readClusterKey } from '../app/cell.ts'
import { messageOf, SetupError } from '../errors.ts'
import { describeNetworkError } from '../http/network-error.ts'
import { type Check, type CheckContext, fail, ok, warn } from './check.ts'

const ABOUT = 'cluster'

export const clusterChecks = async ({
  config: { cluster },
}: Pick<CheckContext, 'config'>): Promise<Check[]> => {
  if (cluster === null) return []
  let given: { url: string; key: string | null }
  try {
    given = { url: clusterUrl(cluster), key: readClusterKey(cluster) }
  } catch (error) {
    const advice = 'Correct the file, or the variable. It does not start without it.'
    return [fail('cluster_unusable', ABOUT, messageOf(error), advice)]
  }
  try {
    const { checkCluster } = await import('../cluster/postgres.ts')
    await checkCluster(given, cluster.cell)
    if (given.key !== null) return [ok(ABOUT, 'the database answers, and its tables are known')]
    return [
      warn(
        'cluster_without_key',
        ABOUT,
        'the database answers, and there is no key: settings, sign-ins, and keys stay on this machine',
        'Set AGENT_WEBUI_CLUSTER_KEY_FILE before the first start, or keep these files on every machine.',
      ),
    ]
  } catch (error) {
    const advice =
      error instanceof SetupError
        ? 'A start ends with exit code 78 until this is corrected.'
        : 'Start the database, or correct AGENT_WEBUI_CLUSTER_URL. A start waits until it answers.'
    // The text of the system has codes and calls.
    const isOfSystem = error instanceof Error && 'syscall' in error
    const said = isOfSystem ? `the database: ${describeNetworkError(error)}` : messageOf(error)
    return [fail('cluster_unusable', ABOUT, said, advice)]
  }
}
