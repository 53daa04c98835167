/** `agent-webui forward`: takes the requests of browsers and passes them to the process that serves their cell now. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { systemClock } from '../base/clock.ts'
import { clusterUrl } from '../app/cell.ts'
import { withoutBasePath } from '../base/base-path.ts'
import { VISITOR_HEADER } from '../base/page-headers.ts'
import { Directory } from '../cluster/directory.ts'
import type { Config } from '../config.ts'
import { conflict, forbidden, messageOf, unauthorized, type UserError } from '../errors.ts'
import { readUser } from '../http/client-address.ts'
import { cellOfPath, pathOfCell } from '../http/cell-path.ts'
import { Drain } from '../http/drain.ts'
import type { Route } from '../http/forwarded-headers.ts'
import { Forwarder, shared } from '../http/forwarder.ts'
import type { Listener } from '../http/http.ts'
import { createServer } from '../http/server.ts'
import { createLog, type Log } from '../operations/log.ts'
import { listen, readTls, urlOf } from '../operations/preflight.ts'
import type { ForwardMetrics } from './forward-metrics.ts'
import { ForwardPages } from './forward-pages.ts'
import type { Interrupts } from './run.ts'

/** How long open responses may continue after SIGTERM. */
const GRACE_MS = 5_000
/** The first part of it, in which the listener stays open: load balancers ask, and choose another forwarder. */
const DRAIN_MS = 2_500
const HEALTH = '/forward/health'

/** Also for a cell that there is: who may not use it does not learn that. */
const NOTHING = 'There is nothing here for this account. Ask the administrator to add you.'
/** What is answered in the list of one person must not be sent in the name of another one who has signed in since. */
const OTHER_PERSON = 'Someone else is signed in in this browser now. Reload the page.'
/** A person who may not use a cell any more loses it after this time. */
const KNOWN_MS = 1_000

/** Without a header there is one cell. With it, a person has the cells that the database lists for them. */
const createRoutes = (
  config: Config,
  { directory, pages }: { directory: Directory; pages: ForwardPages },
) => {
  const { clientOf } = pages
  const cell = config.cluster?.cell ?? ''
  const cells = shared(
    systemClock,
    person => directory.cellsOf(person),
    () => KNOWN_MS,
  )

  const routeOf = async (req: IncomingMessage, res: ServerResponse): Promise<Route | null> => {
    const client = clientOf(req)
    const url = req.url ?? '/'
    if (config.authHeader === null)
      return { cell, person: null, url, prefix: client.prefix, isShared: false }
    const person = readUser(req, config.authHeader, () => client)?.toLowerCase()
    if (person === undefined)
      throw unauthorized(
        `The proxy did not say who you are (${config.authHeader}). Sign in there.`,
        { code: 'sign_in_required' },
      )
    const shownTo = req.headers[VISITOR_HEADER]
    if (shownTo !== undefined && shownTo !== person)
      throw conflict(OTHER_PERSON, { code: 'other_account' })
    const own = await cells.get(person)
    if (own.length > 0 && (await pages.answer(req, res, { person, own }))) return null
    const path = withoutBasePath(url, client.prefix)
    const target = cellOfPath(path)
    const ownCell = target ? own.find(({ name }) => name === target.cell) : own[0]
    if (!ownCell) throw forbidden(NOTHING)
    if (!target) return { cell: ownCell.name, person, url, prefix: client.prefix, isShared: false }
    const prefix = client.prefix + pathOfCell(ownCell.name)
    return {
      cell: ownCell.name,
      person,
      url: prefix + path.slice(target.length),
      prefix,
      isShared: true,
    }
  }
  return {
    clientOf,
    routeOf,
    refuse: (req: IncomingMessage, res: ServerResponse, error: UserError) =>
      pages.refuse(req, res, error),
    isAllowed: async (route: Route): Promise<boolean> =>
      route.person === null ||
      (await cells.get(route.person)).some(({ name }) => name === route.cell),
  }
}

/** Answers for itself: whether it runs, and whether the database does. */
const withHealth = (
  listener: Listener,
  { cell, directory, isStopping }: { directory: Directory; cell: string; isStopping(): boolean },
): Listener => {
  // Anyone may ask, and as often as they like.
  const looks = shared(
    systemClock,
    name => directory.ownerOf(name),
    () => KNOWN_MS,
  )
  return (req, res) => {
    if (req.url?.split('?')[0] !== HEALTH) return listener(req, res)
    const answer = (status: number, body: object) => {
      res.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
      res.end(JSON.stringify(body))
    }
    if (isStopping())
      return answer(503, { status: 'stopping', reason: 'The forwarder is shutting down.' })
    looks.get(cell).then(
      () => answer(200, { status: 'ok' }),
      () => answer(503, { status: 'unavailable', reason: 'The database does not answer.' }),
    )
  }
}

/** Null where there is no token for them. */
const openMetrics = async (
  { metricsToken }: Config,
  directory: Directory,
): Promise<ForwardMetrics | null> => {
  if (metricsToken === null) return null
  const metrics = await import('./forward-metrics.ts')
  return metrics.ForwardMetrics.open(directory, metricsToken)
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
    log = createLog(config.log),
  }: { version: string; onInterrupt: Interrupts; log?: Log },
): Promise<number> => {
  const { cluster: settings } = config
  if (settings === null)
    throw new Error('forward needs AGENT_WEBUI_CLUSTER_URL: the database that names the owners.')
  const directory = new Directory(clusterUrl(settings))
  const pages = new ForwardPages(config, version)
  const metrics = await openMetrics(config, directory)
  const forwarder = new Forwarder({
    clock: systemClock,
    version,
    log,
    ownerOf: name => directory.ownerOf(name),
    ask: name => directory.ask(name),
    onForwarded: how => metrics?.count(how),
    ...createRoutes(config, { directory, pages }),
  })
  const pagesFirst = pages.withFiles(forwarder.listener)
  const listener = metrics?.guard(pagesFirst) ?? pagesFirst
  const tls = readTls(config)
  let isStopping = false
  const drain = new Drain(
    withHealth(listener, {
      cell: settings.cell,
      directory,
      isStopping: () => isStopping,
    }),
  )
  const server = createServer(drain.serve, { version, ...(tls ? { tls } : {}) })
  const { port } = await listen(server, config)
  server.on('error', error => log.error('server', error))
  log.info(`agent-webui ${version} forwards at ${urlOf(config, port)}/`)
  log.flush()
  try {
    await waitForEnd(onInterrupt)
    isStopping = true
    const cut = setTimeout(() => server.closeAllConnections(), GRACE_MS)
    const drained = new Promise<void>(resolve => setTimeout(resolve, DRAIN_MS).unref())
    await Promise.race([drain.ended(), drained])
    const serverClose = new Promise(resolve => server.close(resolve))
    server.closeIdleConnections()
    await serverClose
    clearTimeout(cut)
  } catch (error) {
    log.error('closing', messageOf(error))
  }
  forwarder.close()
  directory.close()
  log.close()
  return 0
}
