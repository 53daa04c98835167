/** Builds every long-lived part once and takes them down again; the only place that knows all rooms. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { createAgent } from './agent/loop.ts'
import { createProviders } from './agent/providers/pick.ts'
import { toolbox } from './agent/tools/toolbox.ts'
import { createAssets } from './assets.ts'
import { createAuth } from './auth/auth.ts'
import { createGate } from './auth/gate.ts'
import type { Config } from './config.ts'
import type { Ctx } from './ctx.ts'
import type { BaseCtx } from './http/base-ctx.ts'
import type { AssetTable } from './http/static.ts'
import { createHub } from './hub.ts'
import type { Log } from './log.ts'
import { compatibleFor } from './models/compat.ts'
import { adoptDefaultModel, effectiveDefault } from './models/default.ts'
import { resolveFor } from './models/resolve.ts'
import { runtimeEndpoint } from './models/runtime.ts'
import { openPacked } from './packed.ts'
import { currentPrompt } from './personalities.ts'
import type { Home } from './profiles/home.ts'
import { createHomes } from './profiles/homes.ts'
import { redact, redactValue } from './redact.ts'
import { createEdits } from './sessions/edits.ts'
import { WORKER_LIMITS } from './sessions/search.ts'
import { createSessions } from './sessions/store.ts'
import { createSettings } from './settings.ts'
import { createBegin } from './turns/begin.ts'
import { createEquip } from './turns/equip.ts'
import { createTurns } from './turns/runner.ts'
import { createViews } from './turns/view.ts'
import { addonCandidates, placeAddon } from './store/addon.ts'
import { readVersion } from './version.ts'
import { bootWorkspace } from './workspaces/boot.ts'
import { createWorkspaces } from './workspaces/list.ts'
import { usableWorkspace } from './workspaces/validate.ts'

export type App = Awaited<ReturnType<typeof createApp>>

const SWEEP_TRASH_MS = 60 * 60_000
/** How long the engines of stopped turns may take to wind down. */
const WIND_DOWN_MS = 3_000

/** Path of SQLite's addon where it has to be unpacked first: in the one file. */
export const placeSqlite = ({ stateDir, userHome, env }: Config): string | undefined => {
  const packed = openPacked()
  if (!packed) return undefined
  const places = { stateDir, userHome, cacheHome: env.XDG_CACHE_HOME }
  return placeAddon({ target: packed.target, ...packed.addon }, addonCandidates(places))
}

/** `assets` are given where they are built once for many services: in tests. */
export const createApp = async (
  config: Config,
  log: Log,
  { addon, assets: given }: { addon?: string | undefined; assets?: () => Promise<AssetTable> } = {},
) => {
  const startedAt = Date.now()
  const packed = openPacked()
  const { stateDir } = config
  const root = packed ? import.meta.dirname : join(import.meta.dirname, '..')
  const version = await readVersion({ root, builtIn: packed?.version, path: config.env.PATH })
  const assets = given ?? createAssets(packed)
  /** Seconds since 1970. Never backwards within the process: rows are ordered by it. */
  const now = () => (performance.timeOrigin + performance.now()) / 1_000

  const homes = createHomes(config)
  const settings = createSettings(join(stateDir, 'settings.json'), {
    botName: config.botName,
    usableWorkspace: path => usableWorkspace(path, config.userHome),
    bootWorkspace: saved => bootWorkspace(config, saved),
    adoptDefaultModel: model => adoptDefaultModel(homes.base, model),
  })
  const workspaces = createWorkspaces(config, () => settings.get().default_workspace)
  const auth = createAuth({ stateDir, config, settings, log })
  const hub = createHub({ boot: randomBytes(4).toString('hex') })

  const sessions = createSessions({
    dir: join(stateDir, 'sessions'),
    trashDir: join(stateDir, 'trash'),
    cacheDir: join(stateDir, 'cache'),
    redact,
    // Empty untitled ones too: a page that shows a session must hear that it was cleared.
    onRow: row => hub.publish('list', { type: 'row', data: { row } }),
    onGone: id => hub.publish('list', { type: 'gone', data: { session_id: id } }),
    log: (line, extra) => log.warn(line, extra),
    now,
    addon,
    ...(packed
      ? {
          startWorker: () =>
            new Worker(packed.searchWorker(), { eval: true, resourceLimits: WORKER_LIMITS }),
        }
      : {}),
  })

  const providers = createProviders(config.env)
  const models = {
    default: (home: Home) => effectiveDefault(home, config),
    compatible: (home: Home, model: string | null) => compatibleFor(home, config, model),
    endpoint: (home: Home, model: string) => runtimeEndpoint(home, config, resolveFor(home, model)),
  }
  const turns = createTurns({
    sessions,
    hub,
    liveDir: join(stateDir, 'live'),
    now,
    log: (message, extra) => log.error(message, extra),
    redactMessage: redactValue,
    equip: createEquip({
      sessions,
      agent: createAgent(),
      providers,
      tools: toolbox,
      homeOf: homes.of,
      stateDir,
      redact,
      redactMessage: redactValue,
      personality: (home, name) => currentPrompt(home.values(), name) ?? '',
    }),
    providers,
  })
  const views = createViews({
    sessions,
    turns,
    hub,
    redactValue,
    shownModel: (model, profile) =>
      model === null ? null : models.compatible(homes.of(profile), model).model,
  })
  const begin = createBegin({ sessions, turns, homeOf: homes.of, models, workspaces })
  const edits = createEdits(sessions, turns.requireIdle)

  const sweep = () =>
    sessions.sweepTrash().catch((error: unknown) => log.error('emptying the trash', error))
  const sweeper = setInterval(sweep, SWEEP_TRASH_MS)
  sweeper.unref()
  void sweep()

  const app = {
    config,
    log,
    version,
    startedAt,
    assets,
    homes,
    settings,
    workspaces,
    auth,
    hub,
    sessions,
    models,
    turns,
    views,
    begin,
    edits,
    redact,
    gate: createGate(auth),
    makeCtx: (base: BaseCtx): Ctx => {
      const ctx = Object.assign(base, { app: app as App })
      // Whose home it is may stand in a file: looked at when somebody asks, once.
      const home = {
        configurable: true,
        get: () => {
          const value = homes.forCookie(base.cookies.agent_profile)
          Object.defineProperty(ctx, 'home', { value })
          return value
        },
      }
      return Object.defineProperty(ctx, 'home', home) as Ctx
    },
    /** Turns first, while there is still a journal to close them in. */
    async close(): Promise<void> {
      clearInterval(sweeper)
      await Promise.race([
        turns.close(),
        new Promise(resolve => setTimeout(resolve, WIND_DOWN_MS).unref()),
      ])
      hub.close()
      auth.close()
      await sessions.close()
    },
  }
  return app
}
