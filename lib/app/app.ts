/** Builds every long-lived part once and takes them down again; the only place that knows all rooms. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findAgentDir, installAgent } from '../host-agent-checkout.ts'
import { createAssets } from '../assets.ts'
import { createAuthenticator } from '../auth/authenticator.ts'
import { createHostSessions } from '../host-db/host-sessions.ts'
import { callableSkills } from '../commands.ts'
import type { Config } from '../config.ts'
import { createCron } from '../cron/cron.ts'
import type { Ctx } from '../context.ts'
import { createEngine } from './engine.ts'
import { createFileCheck, watchFileProblems } from '../file-problems.ts'
import { createHostSessionWatcher } from '../host-session-watcher.ts'
import { missing } from '../errors.ts'
import type { BaseCtx } from '../http/request-context.ts'
import type { AssetTable } from '../http/static.ts'
import type { Log } from '../log.ts'
import { isPrivateAddress } from '../models/fetch-model-list.ts'
import { parseBaseUrl, configureProvider, withProvider } from '../models/set-provider.ts'
import { parseModelId } from '../models/default-model.ts'
import { parseApiKey } from '../models/provider-keys.ts'
import { hasKeyFor, quickProviders, readinessOf } from '../models/readiness.ts'
import { createOnboarding } from '../onboarding.ts'
import { isExecutable, openPacked } from '../packed.ts'
import { writeEnv } from '../profiles/write-env.ts'
import { otherHomePaths } from '../profiles/other-homes.ts'
import { createProfiles } from '../profiles/profiles.ts'
import { createProcessRegistry } from '../processes.ts'
import { redact, redactValue } from '../redact/redact.ts'
import { createEdits } from '../sessions/edits.ts'
import { createSideQuestions } from '../conversation/side-questions.ts'
import { createBackgroundPrompts } from '../conversation/background-prompts.ts'
import { createExternalAgentOptions } from '../conversation/external-agent-options.ts'
import { createExternalAgentSessions } from '../conversation/external-agent-sessions.ts'
import type { ExternalAgentTargetOptions } from '../turn-context/external-agent-target.ts'
import { createTurnStarter } from '../conversation/start-turn.ts'
import { createGuards } from '../turn-context/guards.ts'
import { createMessageQueue } from '../conversation/queue.ts'
import { createToolsetSettings } from '../turn-context/toolset-settings.ts'
import { createSkills } from '../skills/skills.ts'
import { createSessionViews } from '../conversation/session-view.ts'
import { createImageProxy } from '../turn-context/web-services.ts'
import { createCheckpoints } from '../checkpoints/checkpoints.ts'
import { openAppData } from './data.ts'
import { createUpdates, ownCheckout } from '../updates/updates.ts'
import { readVersion } from '../version.ts'
import { createSessionFiles } from '../workspaces/session-files.ts'

export type App = Awaited<ReturnType<typeof createApp>>

const SWEEP_TRASH_MS = 60 * 60_000
/** How long the engines of stopped turns may take to wind down. */
const WIND_DOWN_MS = 3_000

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
  const root = packed ? import.meta.dirname : join(import.meta.dirname, '..', '..')
  const version = await readVersion({ root, builtIn: packed?.version, path: config.env.PATH })
  const assets = given ?? createAssets(packed)
  /** Seconds since 1970. Never backwards within the process: rows are ordered by it. */
  const now = () => (performance.timeOrigin + performance.now()) / 1_000

  const stores = openAppData(config, { log, now, addon })
  const { homes, settings, workspaces, auth, hub, promptCache, toolOutput, sessions, projects } =
    stores
  const notify = (level: 'info' | 'error', message: string) =>
    void hub.publish('notices', { type: 'notice', data: { level, message } })
  const guards = createGuards({ accepted: stores.acceptedGuards, redact })
  const profiles = createProfiles({
    homes,
    env: config.env,
    log: log.warn,
    onDeleted: name => {
      engine.mcp.forget(join(homes.dir, name))
      notify('info', `Profile '${name}' was deleted.`)
    },
  })
  const hostSessions = createHostSessions({
    sessions,
    isActive: id => turns.isActive(id),
    lastWorkspace: home => workspaces.last(homes.of(home.name)),
    redact,
    redactValue,
    trashDir: join(stateDir, 'trash'),
    now,
    log: log.warn,
    onChange: home => hostSessionWatcher.checkNow(home),
    addon,
  })
  const files = createSessionFiles({
    config,
    now,
    sessionOf(asking, id) {
      const row = sessions.row(id)
      const home = row ? homes.of(row.profile) : homes.of(asking.name)
      const workspace = row ? row.workspace : hostSessions.workspaceOf(home, id)
      if (workspace === undefined) throw missing('Session not found')
      return { home, workspace: workspace || workspaces.defaultOf(home) }
    },
    placesOfOthers: home => otherHomePaths(homes, homes.of(home.name)),
  })
  const hostSessionWatcher = createHostSessionWatcher({
    rowsOf: hostSessions.rows,
    problemOf: hostSessions.problem,
    enabled: () => settings.get().show_cli_sessions,
    publish(data) {
      if (data.changed) hostSessions.refreshAll(homes.of(data.profile))
      hub.publish('gateway', { type: 'gateway', data })
    },
  })
  hostSessionWatcher.start()

  const mirrorUsage = (sessionId: string): void => {
    if (!settings.get().sync_to_insights) return
    void hostSessions.mirror(homes.of(sessions.row(sessionId)?.profile), sessionId)
  }

  // The executable is not built from the checkout it may lie in: pulling there would change nothing that runs.
  const ownSources = isExecutable() ? null : ownCheckout(root)
  const checkouts = { webui: checkout === undefined ? ownSources : checkout }
  const updates = createUpdates({
    checkouts: () => ({ ...checkouts, agent: findAgentDir(config) }),
    env: config.env,
    restart,
    log: log.warn,
  })
  const installing = new AbortController()
  const mayInstall = config.autoInstall && homes.base.problems().every(({ in_force }) => in_force)
  void installAgent({
    agentDir: config.agentDir,
    baseHome: config.baseHome,
    enabled: mayInstall,
    env: mayInstall ? homes.base.childEnv() : {},
    log,
    uid: process.getuid?.(),
    signal: installing.signal,
  })

  const skills = createSkills({ userHome: config.userHome, callable: callableSkills })

  const checkpoints = createCheckpoints({
    boundsOf: (home, workspace) => files.areas.areaFor(home, workspace),
    path: config.env.PATH,
    now,
    resolve: sessions.resolve,
    log: log.warn,
  })
  const processes = createProcessRegistry({
    now,
    resolve: sessions.resolve,
    onEnded: (session_id, { command, exit_code }) =>
      hub.publish('notices', {
        type: 'notice',
        data: {
          level: exit_code === 0 ? 'info' : 'warn',
          message: `Ended with exit code ${exit_code}: ${redact(command).slice(0, 200)}`,
          session_id,
        },
      }),
  })
  const engine = await createEngine({
    config,
    version,
    homes,
    sessions,
    hostSessions,
    skills,
    hub,
    promptCache,
    toolOutput,
    checkpoints,
    guardsFor: guards.of,
    processesOf: processes.of,
    cron: () => cron,
    liveDir: join(stateDir, 'live'),
    now,
    log,
    onIdle: mirrorUsage,
    onDone: id => void queue.next(id),
    onQueue: id => queue.publish(id),
  })
  const { models, turns, external } = engine
  const sessionViews = createSessionViews({
    sessions,
    turns,
    hub,
    redactValue,
    shownModel: (model, profile) =>
      model === null ? null : models.compatible(homes.of(profile), model).model,
  })
  const agentSide: ExternalAgentTargetOptions & { external: typeof external } = {
    external,
    sessions,
    homeOf: homes.of,
    endpointOf: (home, model) => models.endpoint(home, models.compatible(home, model).model),
  }
  const externalAgentOptions = createExternalAgentOptions(agentSide)
  const externalAgentSessions = createExternalAgentSessions({
    ...agentSide,
    runExclusive: turns.runExclusive,
    expandSkill: skills.expand,
    onChange: id => void hub.publish(`session:${id}`, { type: 'reset', data: {} }),
    redact,
  })
  const turnStarter = createTurnStarter({ sessions, turns, homes, models, workspaces })
  const queue = createMessageQueue({
    sessions,
    hub,
    streamOf: turns.streamOf,
    async send(sessionId, { id, text, attachments }) {
      const { turn } = await turnStarter.turn({ sessionId, text, attachments, queued: id })
      queue.publish(sessionId)
      return turn
    },
    now,
    log: log.warn,
  })
  const sideQuestions = createSideQuestions({
    sessions,
    hub,
    eventLogs: turns.eventLogs,
    liveDir: join(stateDir, 'live'),
    agent: engine.agent,
    providers: engine.providers,
    homeOf: homes.of,
    endpoint: turnStarter.endpoint,
    budgetFor: about => engine.budgetFor({ ...about, unattended: true }, turns.questions.approve),
    redact,
    now,
    log: log.error,
  })
  const backgroundPrompts = createBackgroundPrompts({ sessions, turnStarter, hub, redact })
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
      holdsKey: (home, chosen) => hasKeyFor(withProvider(home, chosen, {}), chosen.provider),
      isAnotherKey: (home, name, key) => ![undefined, '', key].includes(home.env()[name]?.trim()),
      checkedKey: parseApiKey,
      checkedModel: parseModelId,
      checkedBaseUrl: parseBaseUrl,
      configure: configureProvider,
    },
    writeEnv,
  })
  const edits = createEdits(sessions, turns.requireIdle)

  const cron = createCron({
    homes: homes.list,
    start: turnStarter.unattended,
    stop: turns.cancel,
    forbids: home => guards.of(home).commands(),
    skill: skills.contentIfAny,
    redact,
    log: log.warn,
  })

  const fileProblems = watchFileProblems({
    check: createFileCheck({ homes, workspaces, projects, jobsOf: home => cron.of(home).jobs }),
    log: log.warn,
    notify,
  })

  const isKept = (id: string) => sessions.row(id) !== undefined || sessions.inTrash(id)
  const sweep = () =>
    Promise.all([sessions.sweepTrash(), files.trash.sweep()])
      .then(() => {
        toolOutput.sweep(isKept)
        return checkpoints.sweep(homes.list(), isKept)
      })
      .then(() => promptCache.sweep())
      .catch((error: unknown) => log.error('emptying the trash', error))
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
    hostSessions,
    hostSessionWatcher,
    guards,
    fileProblems,
    updates,
    workspaces,
    files,
    skills,
    toolsets: createToolsetSettings({
      ...engine,
      sessions,
      homeOf: profile => homes.of(profile).lenient,
    }),
    auth,
    hub,
    sessions,
    models,
    mcp: engine.mcp,
    onboarding,
    turns,
    sessionViews,
    turnStarter,
    externalAgentOptions,
    externalAgentSessions,
    compressions: engine.compressions,
    grants: engine.grants,
    queue,
    sideQuestions,
    backgroundPrompts,
    spentSince: engine.spentSince,
    edits,
    cron,
    checkpoints,
    processes,
    toolOutput,
    /** Pictures of other hosts that a person asked for: fetched here, so that the page loads nothing from elsewhere. */
    fetchImage: createImageProxy(engine.dispatcher),
    redact,
    authenticator: createAuthenticator(auth),
    makeCtx: (base: BaseCtx): Ctx => {
      const ctx = Object.assign(base, { app: app as App })
      // Whose home it is may stand in a file: looked at when somebody asks, once.
      const home = {
        configurable: true,
        get: () => {
          const found = homes.forCookie(base.cookies.agent_profile)
          const value = base.isReadOnly ? found.lenient : found
          Object.defineProperty(ctx, 'home', { value })
          return value
        },
      }
      return Object.defineProperty(ctx, 'home', home) as Ctx
    },
    /** Turns first, while there is still a journal to close them in. */
    async close(): Promise<void> {
      clearInterval(sweeper)
      fileProblems.close()
      hostSessionWatcher.stop()
      updates.close()
      installing.abort()
      sideQuestions.close()
      await Promise.race([
        // Tasks first: they end their own turns, and write down that they were interrupted.
        Promise.all([cron.close(), turns.close(), external.close()]).then(() =>
          Promise.all([models.flush(), checkpoints.close(), processes.close()]),
        ),
        new Promise(resolve => setTimeout(resolve, WIND_DOWN_MS).unref()),
      ])
      await engine.mcp.close()
      hub.close()
      auth.close()
      await sessions.close()
      stores.forgetSecrets()
    },
  }
  // What a killed process left open.
  void checkpoints.recover(homes.list()).catch((error: unknown) => log.error('checkpoints', error))
  // What became due while nobody was there.
  void cron.tick()
  return app
}
