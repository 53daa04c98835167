/** Builds every long-lived part once and takes them down again; the only place that knows all rooms. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { findAgentDir, installAgent } from './agent-checkout.ts'
import { createAgent } from './agent/loop.ts'
import { hintFor } from './agent/failure.ts'
import { createProviders, proxyOf } from './agent/providers/pick.ts'
import { createAssets } from './assets.ts'
import { createAuth } from './auth/auth.ts'
import { createGate } from './auth/gate.ts'
import { createBridge } from './cli/bridge.ts'
import { callableSkills } from './commands.ts'
import type { Config } from './config.ts'
import { createCron } from './cron/cron.ts'
import type { Ctx } from './ctx.ts'
import { createGateway } from './gateway.ts'
import { missing, Refusal } from './errors.ts'
import type { BaseCtx } from './http/base-ctx.ts'
import type { AssetTable } from './http/static.ts'
import { createHub } from './hub.ts'
import type { Log } from './log.ts'
import { memoryPrompt } from './memory.ts'
import { isPrivateAddress } from './models/ask.ts'
import { checkedBaseUrl, configureProvider, supposing } from './models/configure.ts'
import { adoptDefaultModel, checkedModelId } from './models/default.ts'
import { checkedKey } from './models/keys.ts'
import { createModels } from './models/models.ts'
import { holdsKeyFor, quickProviders, readinessOf } from './models/readiness.ts'
import { createOnboarding } from './onboarding.ts'
import { openPacked } from './packed.ts'
import { currentPrompt } from './personalities.ts'
import { writeEnv } from './profiles/env-write.ts'
import { createHomes } from './profiles/homes.ts'
import { tightenSecrets } from './profiles/secrets.ts'
import { placesOfOthers } from './profiles/others.ts'
import { createProfiles } from './profiles/profiles.ts'
import { createProjects } from './projects.ts'
import { redact, redactValue } from './redact.ts'
import { createEdits } from './sessions/edits.ts'
import { WORKER_LIMITS } from './sessions/search.ts'
import { createSessions } from './sessions/store.ts'
import { createSettings } from './settings.ts'
import { createBegin } from './turns/begin.ts'
import { createEquip } from './turns/equip.ts'
import { createPrompting } from './turns/prompting.ts'
import { createToolset } from './turns/toolset.ts'
import { createSkills } from './skills/skills.ts'
import { createTurns } from './turns/runner.ts'
import { createViews } from './turns/view.ts'
import { addonCandidates, placeAddon } from './store/addon.ts'
import { createUpdates, ownCheckout } from './updates/updates.ts'
import { readVersion } from './version.ts'
import { bootWorkspace } from './workspaces/boot.ts'
import { createWorkspaces } from './workspaces/list.ts'
import { createSessionFiles } from './workspaces/session-files.ts'
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
  {
    addon,
    assets: given,
    checkout,
    restart,
  }: {
    addon?: string | undefined
    assets?: () => Promise<AssetTable>
    /** What updates are applied to; null for none, found by itself when absent. */
    checkout?: string | null
    /** Replaces the process by what lies in the checkout now. */
    restart?: (() => Promise<unknown>) | undefined
  } = {},
) => {
  const startedAt = Date.now()
  const packed = openPacked()
  const { stateDir } = config
  const root = packed ? import.meta.dirname : join(import.meta.dirname, '..')
  const version = await readVersion({ root, builtIn: packed?.version, path: config.env.PATH })
  const assets = given ?? createAssets(packed)
  /** Seconds since 1970. Never backwards within the process: rows are ordered by it. */
  const now = () => (performance.timeOrigin + performance.now()) / 1_000

  tightenSecrets(config, line => log.warn(line))
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

  const profiles = createProfiles({
    homes,
    env: config.env,
    log: (line, extra) => log.warn(line, extra),
    onGone: name =>
      hub.publish('notices', {
        type: 'notice',
        data: { level: 'info', message: `Profile '${name}' was deleted.` },
      }),
  })
  const projects = createProjects({
    path: join(stateDir, 'projects.json'),
    members: sessions.ofProject,
    unassign: id => void sessions.append(id, [{ t: 'meta', patch: { project_id: null } }]),
    now,
  })

  const bridge = createBridge({
    sessions,
    isActive: id => turns.isActive(id),
    lastWorkspace: home => workspaces.last(homes.of(home.name)),
    redact,
    redactValue,
    trashDir: join(stateDir, 'trash'),
    now,
    log: (line, extra) => log.warn(line, extra),
    onChange: home => gateway.poke(home),
    addon,
  })
  const files = createSessionFiles({
    config,
    now,
    sessionOf(asking, id) {
      const row = sessions.row(id)
      const home = row ? homes.of(row.profile) : homes.of(asking.name)
      const workspace = row ? row.workspace : bridge.workspaceOf(home, id)
      if (workspace === undefined) throw missing('Session not found')
      return { home, workspace: workspace || workspaces.defaultOf(home) }
    },
    placesOfOthers: home => placesOfOthers(homes, homes.of(home.name)),
  })
  const gateway = createGateway({
    rowsOf: bridge.rows,
    problemOf: bridge.problem,
    enabled: () => settings.get().show_cli_sessions,
    announce: data => hub.publish('gateway', { type: 'gateway', data }),
  })
  gateway.start()

  const mirrorUsage = (sessionId: string): void => {
    if (!settings.get().sync_to_insights) return
    void bridge.mirror(homes.of(sessions.row(sessionId)?.profile), sessionId)
  }

  const checkouts = { webui: checkout === undefined ? ownCheckout(root) : checkout }
  const updates = createUpdates({
    checkouts: () => ({ ...checkouts, agent: findAgentDir(config) }),
    env: config.env,
    restart,
    log: (line, extra) => log.warn(line, extra),
  })
  const installing = new AbortController()
  void installAgent({
    agentDir: config.agentDir,
    baseHome: config.baseHome,
    enabled: config.autoInstall,
    env: homes.base.childEnv(),
    log,
    uid: process.getuid?.(),
    signal: installing.signal,
  })

  const skills = createSkills({ userHome: config.userHome, callable: callableSkills })

  const dispatcher = await proxyOf(config.env)
  const providers = createProviders(dispatcher)
  const models = createModels({
    config,
    providers,
    dispatcher,
    hintFor,
    writeEnv,
  })
  const agent = createAgent()
  const turns = createTurns({
    sessions,
    hub,
    liveDir: join(stateDir, 'live'),
    now,
    log: (message, extra) => log.error(message, extra),
    redactMessage: redactValue,
    onFree: mirrorUsage,
    equip: createEquip({
      sessions,
      agentFor: () => agent,
      providers,
      toolsFor: createToolset([]),
      promptFor: createPrompting({
        personality: (home, name) => currentPrompt(home.values(), name) ?? '',
        memory: memoryPrompt,
      }),
      recoverFor: () => undefined,
      homeOf: homes.of,
      placesOfOthers: home => placesOfOthers(homes, home),
      stateDir,
      redact,
      redactMessage: redactValue,
      expandSkill: skills.expand,
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
  const onboarding = createOnboarding({
    config,
    settings,
    authEnabled: auth.enabled,
    exists: existsSync,
    isPrivateAddress,
    workspaces,
    models: {
      list: models.list,
      default: models.default,
      readiness: home => readinessOf(home, models.defaults(home)),
      quick: quickProviders,
      holdsKey: (home, chosen) => holdsKeyFor(supposing(home, chosen, {}), chosen.provider),
      isAnotherKey: (home, name, key) => ![undefined, '', key].includes(home.env()[name]?.trim()),
      checkedKey,
      checkedModel: checkedModelId,
      checkedBaseUrl,
      configure: configureProvider,
    },
    writeEnv,
  })
  const edits = createEdits(sessions, turns.requireIdle)

  const cron = createCron({
    homes: homes.list,
    start: begin.unattended,
    stop: turns.cancel,
    skill(home, name) {
      try {
        return skills.content(home, name).content
      } catch (error) {
        // No such skill: the task says so and goes on without it.
        if (error instanceof Refusal) return null
        throw error
      }
    },
    redact,
    log: (line, extra) => log.warn(line, extra),
  })

  const sweep = () =>
    Promise.all([sessions.sweepTrash(), files.trash.sweep()]).catch((error: unknown) =>
      log.error('emptying the trash', error),
    )
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
    profiles,
    projects,
    settings,
    bridge,
    gateway,
    updates,
    workspaces,
    files,
    skills,
    auth,
    hub,
    sessions,
    models,
    onboarding,
    turns,
    views,
    begin,
    edits,
    cron,
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
      gateway.stop()
      updates.close()
      installing.abort()
      await Promise.race([
        // Tasks first: they end their own turns, and write down that they were interrupted.
        Promise.all([cron.close(), turns.close()]),
        new Promise(resolve => setTimeout(resolve, WIND_DOWN_MS).unref()),
      ])
      hub.close()
      auth.close()
      await sessions.close()
    },
  }
  // What became due while nobody was there.
  void cron.tick()
  return app
}
