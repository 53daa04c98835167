/** `agent-webui forward`: takes the requests of browsers and passes them to the process that serves their cell now. */
import type { IncomingMessage } from 'node:http'
import { clusterUrl } from '../app/cell.ts'
import { isCellName } from '../base/cluster-settings.ts'
import type { Cluster } from '../cluster/types.ts'
import type { Config } from '../config.ts'
import { forbidden, messageOf, unauthorized } from '../errors.ts'
import { createClientReader } from '../http/client-address.ts'
import { createForwarder } from '../http/forwarder.ts'
import type { Listener } from '../http/request-listener.ts'
import { createServer } from '../http/server.ts'
import { createUserHeader } from '../http/user-header.ts'
import { createLog, type Log } from '../log.ts'
import { listen, readTls, urlOf } from '../preflight.ts'
import { redact, redactValue } from '../redact/redact.ts'
import type { Interrupts } from './run.ts'

/** How long open responses may continue after SIGTERM. */
const GRACE_MS = 5_000
const HEALTH = '/forward/health'

/** The user of a trusted proxy has a cell of the same name; without such a header there is one cell. */
const createCellOf = (
  config: Config,
  cell: string,
  clientOf: ReturnType<typeof createClientReader>,
) => {
  const userOf = createUserHeader(config.authHeader)
  return (req: IncomingMessage): string => {
    if (config.authHeader === null) return cell
    const user = userOf(req, () => clientOf(req))?.toLowerCase()
    if (user === undefined)
      throw unauthorized(`The proxy did not say who you are (${config.authHeader}). Sign in there.`)
    if (!isCellName(user)) throw forbidden('There is nothing here for this account.')
    return user
  }
}

/** Answers for itself: whether it runs, and whether the database does. */
const withHealth =
  (listener: Listener, cluster: Cluster, cell: string): Listener =>
  (req, res) => {
    if (req.url?.split('?')[0] !== HEALTH) return listener(req, res)
    const answer = (status: number, body: object) => {
      res.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
      res.end(JSON.stringify(body))
    }
    cluster.ownerOf(cell).then(
      () => answer(200, { status: 'ok' }),
      () => answer(503, { status: 'unavailable', reason: 'The database does not answer.' }),
    )
  }

const waitForEnd = async (onInterrupt: Interrupts): Promise<void> => {
  let remove = () => {}
  await new Promise<void>(resolve => {
    remove = onInterrupt(() => resolve())
  })
  remove()
}

export const forward = async (
  config: Config,
  {
    version,
    onInterrupt,
    log = createLog({ ...config.log, redact, redactValue }),
  }: { version: string; onInterrupt: Interrupts; log?: Log },
): Promise<number> => {
  const { cluster: settings } = config
  if (settings === null)
    throw new Error('forward needs AGENT_WEBUI_CLUSTER_URL: the database that names the owners.')
  const { createPostgresCluster } = await import('../cluster/postgres.ts')
  const cluster = createPostgresCluster({ url: clusterUrl(settings), key: null, log })
  const clientOf = createClientReader(config.trustedProxies, config)
  const forwarder = createForwarder({
    version,
    clientOf,
    log,
    cellOf: createCellOf(config, settings.cell, clientOf),
    ownerOf: cluster.ownerOf,
  })
  const tls = readTls(config)
  const server = createServer(withHealth(forwarder.listener, cluster, settings.cell), {
    version,
    ...(tls ? { tls } : {}),
  })
  const { port } = await listen(server, config)
  server.on('error', error => log.error('server', error))
  log.info(`agent-webui ${version} forwards at ${urlOf(config, port)}/`)
  log.flush()
  try {
    await waitForEnd(onInterrupt)
    const closed = new Promise(resolve => server.close(resolve))
    server.closeIdleConnections()
    const cut = setTimeout(() => server.closeAllConnections(), GRACE_MS)
    await closed
    clearTimeout(cut)
  } catch (error) {
    log.error('closing', messageOf(error))
  }
  forwarder.close()
  await cluster.close()
  log.close()
  return 0
}
